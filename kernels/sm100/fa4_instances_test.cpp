#include "kernels/sm100/fa4_instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "kernels/arch.h"
#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sm100/fa4_instantiation_table.h"

namespace lsecheck::sm100 {
namespace {

constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};

TEST(Fa4Instances, EveryTableEntryIsCompiledAndNothingElse) {
  std::size_t in_table = 0;
  for (const DType out : kTypes) {
    for (const DType partial : kTypes) {
      for (const int depth : kFa4Depths) {
        for (const int p_static : kFa4PStatics) {
          const Fa4Instance* const instance = find_fa4_instance(out, partial, depth, p_static);
          ASSERT_EQ(instance != nullptr, fa4_in_table(out, partial, depth, p_static))
              << name_of(out) << " <- " << name_of(partial) << ", depth " << depth << ", p_static " << p_static;
          if (instance == nullptr) continue;
          ++in_table;
          EXPECT_EQ(std::tie(instance->out, instance->partial, instance->ov_depth, instance->p_static),
                    std::tie(out, partial, depth, p_static));
          EXPECT_NE(instance->thread_body, nullptr);
        }
        for (const int load_bytes : kFa4FastLoadBytes) {
          const Fa4Instance* const fast = find_fa4_instance(out, partial, depth, 0, load_bytes);
          ASSERT_EQ(fast != nullptr, fa4_in_table(out, partial, depth, 0) && fa4_fast_in_table(depth))
              << name_of(out) << " <- " << name_of(partial) << ", depth " << depth << ", load_bytes " << load_bytes;
          if (fast != nullptr) ++in_table;
        }
      }
    }
  }
  EXPECT_EQ(fa4_instances().size(), in_table) << "an instance outside the table, or one twice";
}

// 2 types x 4 depths x (15 rungs that differ by chip in the last: 17, and the runtime kernel) = 144 for production,
// (5 type pairs x 10 depths - 8) x (4 rungs and the runtime kernel) = 210 for the rest; 5 type pairs x 4 vector depths
// x 2 fast variants.
TEST(Fa4Instances, CountIsPinned) {
  EXPECT_EQ(fa4_instances().size(), 144U + 210U + 40U);
  const auto production = std::count_if(fa4_instances().begin(), fa4_instances().end(), [](const Fa4Instance& i) {
    return i.load_bytes == 0 && fa4_is_production(i.out, i.partial, i.ov_depth);
  });
  EXPECT_EQ(production, 144);
}

TEST(Fa4Instances, CodeIsNeverSharedByTwoEntries) {
  std::set<void (*)(const Fa4Arguments&)> bodies;
  for (const Fa4Instance& instance : fa4_instances()) bodies.insert(instance.thread_body);
  EXPECT_EQ(bodies.size(), fa4_instances().size());
}

// Rows of the last block past the end, and rows that several warps share.
TEST(Fa4Instances, TheGridOfAFastVariantCoversEveryRow) {
  EXPECT_EQ(fa4_grid(DType::bf16, 128, 0, 1000).blocks, 1000U);
  EXPECT_EQ(fa4_grid(DType::bf16, 128, 16, 1).blocks, 1U);  // 16 lanes a row, 8 warps: 16 rows a block
  EXPECT_EQ(fa4_grid(DType::bf16, 128, 16, 16).blocks, 1U);
  EXPECT_EQ(fa4_grid(DType::bf16, 128, 16, 17).blocks, 2U);
  EXPECT_EQ(fa4_grid(DType::f32, 512, 4, 3).blocks, 12U);  // 512 lanes a row, 4 warps: 4 blocks a row
  EXPECT_TRUE(fa4_fast_fits(DType::bf16, 128, 16, 0xfffffffeU));
  EXPECT_FALSE(fa4_fast_fits(DType::bf16, 128, 16, 0xffffffffU));
  EXPECT_FALSE(fa4_fast_fits(DType::f32, 512, 4, 0x08000000U));
}

TEST(Fa4Instances, NothingIsFoundOffTheLists) {
  EXPECT_EQ(find_fa4_instance(DType::bf16, DType::bf16, 128, 37), nullptr);
  EXPECT_EQ(find_fa4_instance(DType::bf16, DType::bf16, 100, 0), nullptr);
  EXPECT_EQ(find_fa4_instance(DType::bf16, DType::f32, 128, 2), nullptr);
  EXPECT_EQ(find_fa4_instance(DType::f32, DType::f32, 128, 148), nullptr);
  EXPECT_EQ(find_fa4_instance(DType::f32, DType::bf16, 128, 0), nullptr);
  EXPECT_EQ(find_fa4_instance(DType::f16, DType::bf16, 128, 0), nullptr);
}

TEST(Fa4Instances, PStaticsAreTheRungsOfEveryChipAndTheRuntimeKernel) {
  std::set<int> expected{0};
  for (const Arch arch : kAllArchs) {
    const auto ladder = splitk_p_ladder(sm_count_of(arch));
    expected.insert(ladder.begin(), ladder.end());
  }
  EXPECT_EQ(std::set<int>(kFa4PStatics.begin(), kFa4PStatics.end()), expected);
}

}  // namespace
}  // namespace lsecheck::sm100
