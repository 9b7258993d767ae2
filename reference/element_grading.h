#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "reference/float_format.h"
#include "reference/grade.h"
#include "reference/metric_grid.h"

// How the grade of one element follows from answers about its exact value x, whoever gives them. `Answers` has
//
//   std::optional<std::uint32_t> rounded() const                     x rounded to the output type
//   std::optional<double> ulp() const, scale_ulp() const             ulp_T(x), ulp_T(C)
//   std::optional<bool> equals(double y) const                       x = y
//   std::optional<bool> reaches(double sign, double threshold, double bound) const   sign * x + bound >= threshold
//   std::optional<double> on_grid(double y, double unit) const       abs(y - x) / unit on the grid, 0 < unit < inf
//
// nullopt: open.
namespace lsecheck {

struct OutputElement {
  DType type;
  std::uint32_t bits;
  double bound;
  bool inf_allowed;
};

inline OutputElement output_element(const RowToGrade& row, std::size_t d) {
  return {row.out, row.out_bits[d], row.bound[d], !row.inf_allowed.empty() && row.inf_allowed[d] != 0};
}

// Inf with that sign may be stored: x moved by the bound reaches the threshold, or the kernel's own sums may have
// overflowed (never to the sign opposite to an Inf that is due).
template <class Answers>
std::optional<bool> is_inf_permitted(const Answers& answers, const OutputElement& output,
                                     std::uint32_t correctly_rounded, double sign) {
  if (output.inf_allowed && !is_inf(output.type, correctly_rounded)) return true;
  if (std::isinf(output.bound)) return true;
  return answers.reaches(sign, overflow_threshold(output.type), output.bound);
}

template <class Answers>
std::optional<double> bound_use(const Answers& answers, double y, double bound) {
  if (std::isinf(bound)) return 0.0;
  if (bound > 0) return answers.on_grid(y, bound);
  const std::optional<bool> equal = answers.equals(y);
  if (!equal) return std::nullopt;
  return *equal ? 0.0 : std::numeric_limits<double>::infinity();
}

// The metrics of the finite number y.
template <class Answers>
std::optional<ElementGrade> grade_value(const Answers& answers, double y, double bound, ElementGrade grade) {
  const std::optional<double> unit = answers.ulp();
  const std::optional<double> scale_unit = answers.scale_ulp();
  if (!unit || !scale_unit) return std::nullopt;
  const std::optional<double> ulp = answers.on_grid(y, *unit);
  const std::optional<double> use = bound_use(answers, y, bound);
  if (!ulp || !use) return std::nullopt;
  grade.ulp = *ulp;
  if (*ulp > 0) {
    const std::optional<bool> above = answers.reaches(1, y, 0);  // x >= y, and they differ
    if (!above) return std::nullopt;
    grade.signed_ulp = *above ? -*ulp : *ulp;
  }
  grade.scaled_ulp = metric_scaled(*ulp, *unit / *scale_unit);
  grade.bound_use = *use;
  grade.within_bound = *use <= 1;
  return grade;
}

template <class Answers>
std::optional<ElementGrade> grade_infinity(const Answers& answers, const OutputElement& output, ElementGrade grade) {
  if (grade.steps == 0) return grade;  // Inf of this sign is due
  const double sign = decode(output.type, output.bits) > 0 ? 1.0 : -1.0;
  const std::optional<bool> permitted = is_inf_permitted(answers, output, grade.correctly_rounded, sign);
  if (!permitted) return std::nullopt;
  if (!*permitted) {
    grade.ulp = grade.scaled_ulp = grade.bound_use = std::numeric_limits<double>::infinity();
    grade.signed_ulp = sign * grade.ulp;
    grade.within_bound = false;
    return grade;
  }
  const double next = std::ldexp(sign, format_of(output.type).max_exponent + 1);
  std::optional<ElementGrade> result = grade_value(answers, next, output.bound, grade);
  if (!result) return std::nullopt;
  result->within_bound = true;
  result->bound_use = std::min(result->bound_use, 1.0);
  return result;
}

// nullopt: some answer is open.
template <class Answers>
std::optional<ElementGrade> grade_element(const Answers& answers, const OutputElement& output) {
  const std::optional<std::uint32_t> rounded = answers.rounded();
  if (!rounded) return std::nullopt;
  ElementGrade grade;
  grade.correctly_rounded = *rounded;
  grade.steps = std::abs(ordinal(output.type, output.bits) - ordinal(output.type, *rounded));
  if (is_inf(output.type, output.bits)) return grade_infinity(answers, output, grade);
  return grade_value(answers, decode(output.type, output.bits), output.bound, grade);
}

}  // namespace lsecheck
