#pragma once

#include <cstdint>

#include "reference/device_callable.h"
#include "reference/grade.h"

// What a sweep keeps of the elements of one column. Adding and merging give the same in any order, so that threads of a
// device may share the work as they like.
namespace lsecheck::two_partition {

// The largest value and the least LSE bits that reach it.
struct Largest {
  double value = -1;  // below every metric
  std::uint32_t lse_bits = 0;

  LSECHECK_ANYWHERE void see(double candidate, std::uint32_t bits) {
    if (candidate < value || (candidate == value && bits >= lse_bits)) return;
    value = candidate;
    lse_bits = bits;
  }
};

struct ColumnTally {
  Largest ulp;
  Largest scaled_ulp;
  Largest steps;
  Largest bound_use;
  std::uint64_t graded = 0;
  std::uint64_t correctly_rounded = 0;
  std::uint64_t zeros = 0;        // graded outputs that are 0
  std::uint64_t nan_due = 0;      // by the row's LSE, and NaN
  std::uint64_t left_double = 0;  // graded elements that the first tier left open

  LSECHECK_ANYWHERE void add(std::uint32_t lse_bits, std::uint32_t out_bits, const ElementGrade& grade) {
    ulp.see(grade.ulp, lse_bits);
    scaled_ulp.see(grade.scaled_ulp, lse_bits);
    steps.see(static_cast<double>(grade.steps), lse_bits);
    bound_use.see(grade.bound_use, lse_bits);
    ++graded;
    correctly_rounded += grade.steps == 0 ? 1U : 0U;
    zeros += (out_bits << 1) == 0 ? 1U : 0U;
  }

  LSECHECK_ANYWHERE void merge(const ColumnTally& other) {
    ulp.see(other.ulp.value, other.ulp.lse_bits);
    scaled_ulp.see(other.scaled_ulp.value, other.scaled_ulp.lse_bits);
    steps.see(other.steps.value, other.steps.lse_bits);
    bound_use.see(other.bound_use.value, other.bound_use.lse_bits);
    graded += other.graded;
    correctly_rounded += other.correctly_rounded;
    zeros += other.zeros;
    nan_due += other.nan_due;
    left_double += other.left_double;
  }
};

// An element that somebody else has to look at.
struct OpenElement {
  std::uint32_t lse_bits;
  std::uint32_t column;
  std::uint32_t out_bits;
};

// NaN or +inf: every output of the row is NaN by the contract.
constexpr bool makes_row_nan(std::uint32_t lse_bits) {
  return lse_bits == 0x7f800000U || (lse_bits & 0x7fffffffU) > 0x7f800000U;
}
constexpr bool is_nan_bits(std::uint32_t bits) {
  return (bits & 0x7fffffffU) > 0x7f800000U;
}

}  // namespace lsecheck::two_partition
