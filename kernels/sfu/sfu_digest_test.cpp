#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/sfu/sfu.h"

namespace lsecheck::sfu {
namespace {

constexpr Instruction kInstructions[] = {Instruction::ex2_approx_ftz, Instruction::ex2_approx,
                                         Instruction::lg2_approx_ftz, Instruction::lg2_approx,
                                         Instruction::rcp_approx_ftz};

struct Block {
  Instruction instruction;
  std::uint32_t block;
};

// The blocks whose model digest is not the measured one.
std::vector<std::string> mismatches(const std::vector<Block>& blocks) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> failed;
  const auto work = [&] {
    for (std::size_t i = next++; i < blocks.size(); i = next++) {
      const auto& [instruction, block] = blocks[i];
      if (model_digest(instruction, block) == h200_digest(instruction, block)) continue;
      const std::lock_guard lock(mutex);
      failed.push_back(std::string(name_of(instruction)) + " block " + std::to_string(block));
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  threads.clear();
  return failed;
}

// Top nine bits: 0 zero and subnormals, 127 is [1, 2), 255 Inf and NaN; 256 more is the negative number.
TEST(SfuDigestTest, ModelEqualsTheMeasuredUnitOnASpreadOfBlocks) {
  std::vector<Block> blocks;
  for (const std::uint32_t block : {0u, 103u, 126u, 127u, 133u, 254u, 255u, 256u, 382u, 389u}) {
    for (const Instruction instruction : kInstructions) blocks.push_back({instruction, block});
  }
  EXPECT_EQ(mismatches(blocks), std::vector<std::string>{});
}

// Reports carry this number: it changes only with the tables.
TEST(SfuDigestTest, TableDigestIsPinned) {
  EXPECT_EQ(table_digest(), 0x3aa9609b0fd4ba35u);
}

TEST(SfuDigestTest, InstructionsAreNamedAsInPtx) {
  std::vector<std::string_view> names;
  for (const Instruction instruction : kInstructions) names.push_back(name_of(instruction));
  EXPECT_EQ(names, (std::vector<std::string_view>{"ex2.approx.ftz", "ex2.approx", "lg2.approx.ftz", "lg2.approx",
                                                  "rcp.approx.ftz"}));
}

TEST(SfuDigestNightlyTest, ModelEqualsTheMeasuredUnitOnAllInputs) {
  std::vector<Block> blocks;
  for (const Instruction instruction : kInstructions) {
    for (std::uint32_t block = 0; block < 512; ++block) blocks.push_back({instruction, block});
  }
  EXPECT_EQ(mismatches(blocks), std::vector<std::string>{});
}

}  // namespace
}  // namespace lsecheck::sfu
