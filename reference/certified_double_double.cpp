#include "reference/certified_double_double.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/certified_weight.h"
#include "reference/element_grading.h"

// N, L and C = sum w abs(a) in double-double, with one relative radius per row. u = 2^-53, n the number of terms.
//
// weight    kExponentError * ln 2 * 1.01 + kExp2DoubleDoubleError < 2^-93.2 relative. Scaling by 2^700 is exact.
// N, C      each product 1.6 u^2; n sums of 3.1 u^2 each, relative to partial sums of at most C
// L         the same, relative because all terms are >= 0; tiny terms are left out: 2^-700 of their mass
// x, C / L  15.1 u^2 for the quotient, 2.1 u^2 for adding the radius to it
// Altogether 2 * 2^-93.2 + 2 (1.6 + 3.1 n + 17.2) u^2 < 2^-92 + (7 n + 40) u^2; the factor 1.03 covers the second order
// and the roundings of the radius.
//
// Scale, underflow and overflow are as in the double tier: weights are >= 0.9, L >= 2^300, and C = 0 means that every
// value is 0. What an underflow takes from a sum is below 2^-1070 an operation, far below kFloor after division by L.
namespace lsecheck {
namespace {

constexpr double kFloor = 0x1p-1000;

bool is_less(DoubleDouble a, DoubleDouble b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

DoubleDouble negated(DoubleDouble x) {
  return {-x.hi, -x.lo};
}

// x truncated to a double whose last bit is set when x is not a double: rounding that to any of the types, or taking
// its binade, gives what x itself gives.
double round_to_odd(DoubleDouble x) {
  if (x.lo == 0) return x.hi;
  const auto bits = std::bit_cast<std::uint64_t>(x.hi);
  return std::bit_cast<double>((std::signbit(x.hi) == std::signbit(x.lo) ? bits : bits - 1) | 1);
}

// y - x: the sum of x's parts and y is exact up to the last two roundings, and they do not cancel (abs(x.lo) is at most
// half of a difference of y and x.hi that is not 0): within 3 u relative.
double distance_from(DoubleDouble x, double y) {
  const DoubleDouble s = two_sum(y, -x.hi);
  return s.hi + (s.lo - x.lo);
}

// The answers that low <= x <= high and low <= C / L <= high give.
struct Interval {
  DoubleDouble low, high;
};

class IntervalAnswers {
 public:
  IntervalAnswers(Interval x, Interval scale, DType type) : x_(x), scale_(scale), type_(type) {}

  std::optional<std::uint32_t> rounded() const {
    const std::uint32_t low = round_to_nearest_even(type_, round_to_odd(x_.low));
    if (low != round_to_nearest_even(type_, round_to_odd(x_.high))) return std::nullopt;
    return low;
  }
  std::optional<double> ulp() const { return ulp_of(x_); }
  std::optional<double> scale_ulp() const { return ulp_of(scale_); }
  std::optional<bool> equals(double y) const {
    if (is_less(x_.high, {y, 0}) || is_less({y, 0}, x_.low)) return false;
    if (is_less(x_.low, x_.high)) return std::nullopt;
    return true;
  }
  std::optional<bool> reaches(double sign, double threshold, double bound) const {
    const DoubleDouble least = two_sum(threshold, -bound);
    const DoubleDouble low = sign > 0 ? x_.low : negated(x_.high);
    const DoubleDouble high = sign > 0 ? x_.high : negated(x_.low);
    if (!is_less(low, least)) return true;
    if (is_less(high, least)) return false;
    return std::nullopt;
  }
  std::optional<double> on_grid(double y, double unit) const {
    if (unit < 0x1p-1000) return std::nullopt;
    const double to_low = distance_from(x_.low, y);
    const double to_high = distance_from(x_.high, y);
    const bool outside = (to_low > 0) == (to_high > 0) && to_low != 0 && to_high != 0;
    const double least = outside ? std::min(std::fabs(to_low), std::fabs(to_high)) : 0.0;
    const double most = std::max(std::fabs(to_low), std::fabs(to_high));
    // 3 u of the distance, one rounding of the quotient and one of the product.
    const double low = metric_on_grid(least / unit * (1 - 0x1p-50));
    if (low != metric_on_grid(most / unit * (1 + 0x1p-50))) return std::nullopt;
    return low;
  }

 private:
  std::optional<double> ulp_of(const Interval& interval) const {
    const double ends[2] = {std::fabs(round_to_odd(interval.low)), std::fabs(round_to_odd(interval.high))};
    const bool has_zero = interval.low.hi < 0 && interval.high.hi > 0;
    const double ulp = ulp_at(type_, std::max(ends[0], ends[1]));
    if (ulp != ulp_at(type_, has_zero ? 0.0 : std::min(ends[0], ends[1]))) return std::nullopt;
    return ulp;
  }

  Interval x_, scale_;
  DType type_;
};

}  // namespace

// The sums of one column, in the scale of the weights.
struct DoubleDoubleTier::Column {
  DoubleDouble sum, size;
  double tiny_below = 0, tiny_above = 0;  // what tiny weights may take away from or add to the sum
};

void DoubleDoubleTier::start_row(const RowProblem& problem, const RowExponents& exponents) {
  problem_ = &problem;
  exponents_ = &exponents;
  has_sums_ = false;
  if (!exponents.is_sharp() || exponents.size() > (std::size_t{1} << 20)) return;
  weight_.assign(exponents.size(), {});
  total_ = {};
  const double scale = two_to_the(kWeightScale);
  double tiny_mass = 0;
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    if (exponents.is_tiny(i)) {
      tiny_mass += exponents.mass[i];
      continue;
    }
    const DoubleDouble w = exp2_double_double({exponents.hi[i], exponents.lo[i]});
    weight_[i] = {w.hi * scale, w.lo * scale};
    total_ = add(total_, multiply(weight_[i], exponents.mass[i]));
  }
  const double left_out = tiny_mass / total_.hi;
  condition_ = 1.03 * (0x1p-92 + (7 * static_cast<double>(exponents.size()) + 40) * 0x1p-106 + left_out);
  has_sums_ = total_.hi >= 0x1p300 && total_.hi <= 0x1p900 && condition_ < 0x1p-20;
}

double DoubleDoubleTier::value(std::size_t i, std::size_t d) const {
  const std::size_t partition = exponents_->partition[i];
  return partition == RowExponents::kNoPartition ? 0.0 : problem_->a[partition * problem_->depth + d];
}

// The value that all partitions have in common: then x is it, whatever the weights.
std::optional<double> DoubleDoubleTier::common_value(std::size_t d) const {
  if (!exponents_->is_plain()) return std::nullopt;
  const double first = value(0, d);
  for (std::size_t i = 1; i < exponents_->size(); ++i) {
    if (value(i, d) != first) return std::nullopt;
  }
  return std::isfinite(first) ? std::optional(first + 0.0) : std::nullopt;  // there is one zero here
}

DoubleDoubleTier::Column DoubleDoubleTier::sum_column(std::size_t d) const {
  Column column;
  for (std::size_t i = 0; i < exponents_->size(); ++i) {
    const double a = value(i, d);
    if (exponents_->is_tiny(i)) {
      (a < 0 ? column.tiny_below : column.tiny_above) += std::fabs(a);
      continue;
    }
    if (a == 0) continue;
    column.sum = add(column.sum, multiply(weight_[i], a));
    column.size = add(column.size, multiply(weight_[i], std::fabs(a)));
  }
  return column;
}

std::optional<ElementGrade> DoubleDoubleTier::grade(const RowToGrade& row, std::size_t d) const {
  const OutputElement output = output_element(row, d);
  if (is_nan(output.type, output.bits) || !(output.bound >= 0)) return std::nullopt;
  if (const std::optional<double> common = common_value(d)) {
    const DoubleDouble x{*common, 0};
    const DoubleDouble scale{std::fabs(*common), 0};
    return grade_element(IntervalAnswers({x, x}, {scale, scale}, output.type), output);
  }
  if (!has_sums_) return std::nullopt;
  const Column column = sum_column(d);
  const double below = 1.03 * column.tiny_below / total_.hi;
  const double above = 1.03 * column.tiny_above / total_.hi;
  if (column.size.hi == 0 && (column.tiny_below == 0 || column.tiny_above == 0)) {
    // All other values are 0. x lies between 0 and what the tiny weights make of theirs, and has their sign.
    const bool negative = column.tiny_below > 0;
    const double reach = negative ? below : above;
    const double size = negative || column.tiny_above > 0 ? reach + kFloor : 0;
    const Interval magnitude{{0, 0}, {size, 0}};
    const Interval x = negative ? Interval{{-size, 0}, {-0.0, 0}} : magnitude;
    return grade_element(IntervalAnswers(x, magnitude, output.type), output);
  }
  const DoubleDouble x = divide(column.sum, total_);
  const DoubleDouble scale = divide(column.size, total_);
  if (!std::isfinite(scale.hi)) return std::nullopt;
  const double radius = condition_ * scale.hi + kFloor;
  const Interval around_x{add(x, -(radius + below)), add(x, radius + above)};
  const Interval around_scale{add(scale, -radius), add(scale, radius + below + above)};
  return grade_element(IntervalAnswers(around_x, around_scale, output.type), output);
}

}  // namespace lsecheck
