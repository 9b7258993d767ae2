#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "reference/grade.h"

// A row that owns its arrays, for tests.
namespace lsecheck {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

struct Row {
  std::vector<double> x;
  std::vector<double> a;  // [P, D]
  std::vector<double> l = {};
  std::optional<double> sink = std::nullopt;
  ExponentBase base = ExponentBase::log2;

  RowProblem problem() const { return {base, x, l, a, x.empty() ? 0 : a.size() / x.size(), sink}; }
};

inline std::vector<ElementGrade> grade_all(const Row& row, DType type, const std::vector<std::uint32_t>& bits,
                                           const std::vector<double>& bounds,
                                           const std::vector<std::uint8_t>& inf_allowed = {}) {
  std::vector<ElementGrade> grades(bits.size());
  make_exact_reference()->grade_row(row.problem(), {type, bits, bounds, inf_allowed}, grades);
  return grades;
}

inline ElementGrade grade_bits(const Row& row, DType type, std::uint32_t bits, double bound, bool inf_allowed = false) {
  return grade_all(row, type, {bits}, {bound}, {static_cast<std::uint8_t>(inf_allowed)}).front();
}

inline ElementGrade grade_of(const Row& row, DType type, double y, double bound = 1) {
  const std::uint32_t bits = round_to_nearest_even(type, y);
  EXPECT_EQ(decode(type, bits), y) << "the test's output is not a number of the type";
  return grade_bits(row, type, bits, bound);
}

}  // namespace lsecheck
