#include "cli/cpu_check.h"

#include <gtest/gtest.h>

#include <string>

namespace lsecheck::cli {
namespace {

constexpr ProcessorBits kNehalem{0x0098e3fd, 0, 0x1, 0};
constexpr ProcessorBits kHaswell{0x7ffafbff, 0x000027ab, 0x21, 0x7};

constexpr const char* kRemedy = "; run on an x86-64-v3 processor (Haswell, Zen or later)\n";

std::string line_for(const ProcessorBits& bits, std::size_t capacity = 256) {
  std::string line(capacity, '?');
  line.resize(refusal_line(bits, line.data(), line.size()));
  return line;
}

TEST(CpuCheck, SaysNothingOfAProcessorThatHasEverything) {
  EXPECT_EQ(line_for(kHaswell), "");
}

TEST(CpuCheck, NamesAllThatLacksAndTheRemedyOnOneLine) {
  EXPECT_EQ(line_for(kNehalem),
            std::string("lsecheck: this processor lacks avx, avx2, bmi1, bmi2, f16c, fma, lzcnt, movbe, ymm registers "
                        "saved by the operating system") +
                kRemedy);
}

// One bit at a time: exactly the required ones matter.
TEST(CpuCheck, EachRequiredBitIsLookedAt) {
  struct Word {
    std::uint32_t ProcessorBits::*word;
    std::uint32_t required;
  };
  constexpr Word kWords[] = {{&ProcessorBits::leaf1_ecx, 0x30401000},
                             {&ProcessorBits::leaf7_ebx, 0x00000128},
                             {&ProcessorBits::extended_ecx, 0x00000020},
                             {&ProcessorBits::xcr0, 0x00000006}};
  for (const Word& word : kWords) {
    for (int bit = 0; bit < 32; ++bit) {
      ProcessorBits bits{~0U, ~0U, ~0U, ~0U};
      bits.*word.word &= ~(1U << bit);
      const bool required = ((word.required >> bit) & 1U) != 0;
      EXPECT_EQ(line_for(bits).empty(), !required) << "bit " << bit << ": " << line_for(bits);
    }
  }
}

TEST(CpuCheck, NeverWritesPastTheLine) {
  EXPECT_EQ(line_for(kNehalem, 8), "lsecheck");
}

}  // namespace
}  // namespace lsecheck::cli
