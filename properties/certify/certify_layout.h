#pragma once

#include <cstdint>

// What the kernel of certify_rows.cuh stores, in 32-bit words.
namespace lsecheck::certify {

// Of one row: how many elements stay open, how many are outside the bound, and the largest of each metric over the
// others, which are certified: the f32 that the grid number is, and the first column that has it (0 where it is 0).
enum VerdictWord : unsigned {
  kOpenElements,
  kFailingElements,
  kLargestUlp,
  kLargestScaledUlp = kLargestUlp + 2,
  kLargestBoundUse = kLargestScaledUlp + 2,
  kVerdictWords = kLargestBoundUse + 2
};

// Of one element. kGradeFlags: bit 16 it is decided, bit 17 it lies below the exact value; the low half holds what the
// exact value rounds to.
enum GradeWord : unsigned { kGradeUlp, kGradeScaledUlp, kGradeBoundUse, kGradeSteps, kGradeFlags, kGradeWords };
inline constexpr std::uint32_t kGradeDecided = 1U << 16;
inline constexpr std::uint32_t kGradeBelow = 1U << 17;

}  // namespace lsecheck::certify
