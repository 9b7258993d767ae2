#include "reference/certified_double_double.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/element_grading.h"

// N, L and C = sum w abs(a) in double-double, with one relative radius per row. u = 2^-53, n the number of terms.
//
// N, C      sum_error, of C
// L         the same, relative because all terms are >= 0; tiny terms are left out: 2^-700 of their mass
// x, C / L  15.1 u^2 for the quotient, 2.1 u^2 for adding the radius to it
// Altogether 2 sum_error + 40 u^2; the factor 1.03 covers the second order and the roundings of the radius.
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

struct Interval {
  DoubleDouble low, high;
};

// What is known of a quotient: an interval, and side_of() for a single point in it that matters.
class Quotient {
 public:
  Quotient(Interval interval, const DoubleDoubleWeights& weights, std::span<const double> values)
      : interval_(interval), weights_(weights), values_(values) {}

  const Interval& interval() const { return interval_; }

  // The sign of x - t.
  std::optional<int> side(DoubleDouble t) const {
    if (is_less(interval_.high, t)) return -1;
    if (is_less(t, interval_.low)) return 1;
    return side_of(weights_, values_, t);
  }

  std::optional<double> ulp(DType type) const {
    const double ends[2] = {std::fabs(round_to_odd(interval_.low)), std::fabs(round_to_odd(interval_.high))};
    const bool has_zero = interval_.low.hi < 0 && interval_.high.hi > 0;
    const double smaller = ulp_at(type, has_zero ? 0.0 : std::min(ends[0], ends[1]));
    const double larger = ulp_at(type, std::max(ends[0], ends[1]));
    if (smaller == larger) return larger;
    if (has_zero || larger != 2 * smaller) return std::nullopt;
    // The binade boundary inside the interval: the first number with the larger ulp.
    const double boundary = std::ldexp(larger, format_of(type).precision - 1);
    const bool negative = interval_.low.hi < 0;
    const std::optional<int> at = side({negative ? -boundary : boundary, 0});
    if (!at) return std::nullopt;
    return (negative ? *at <= 0 : *at >= 0) ? larger : smaller;
  }

 private:
  Interval interval_;
  const DoubleDoubleWeights& weights_;
  std::span<const double> values_;
};

class DoubleDoubleAnswers {
 public:
  DoubleDoubleAnswers(const Quotient& x, const Quotient& scale, DType type) : x_(x), scale_(scale), type_(type) {}

  std::optional<double> ulp() const { return x_.ulp(type_); }
  std::optional<double> scale_ulp() const { return scale_.ulp(type_); }

  std::optional<std::uint32_t> rounded() const {
    const std::uint32_t below = round_to_nearest_even(type_, round_to_odd(x_.interval().low));
    const std::uint32_t above = round_to_nearest_even(type_, round_to_odd(x_.interval().high));
    if (below == above) return below;
    if (ordinal(type_, above) - ordinal(type_, below) > 1) return std::nullopt;
    const double between = rounding_boundary(type_, below, above);
    const std::optional<int> side = x_.side({between, 0});
    if (!side) return std::nullopt;
    if (*side != 0) return *side < 0 ? below : above;
    return round_to_nearest_even(type_, between);
  }

  std::optional<bool> equals(double y) const {
    const std::optional<int> side = x_.side({y, 0});
    if (!side) return std::nullopt;
    return *side == 0;
  }

  std::optional<bool> reaches(double sign, double threshold, double bound) const {
    const DoubleDouble t = two_sum(threshold, -bound);
    const std::optional<int> side = x_.side(sign > 0 ? t : negated(t));
    if (!side) return std::nullopt;
    return sign > 0 ? *side >= 0 : *side <= 0;
  }

  std::optional<double> on_grid(double y, double unit) const {
    if (unit < 0x1p-900) return std::nullopt;
    const double to_low = distance_from(x_.interval().low, y);
    const double to_high = distance_from(x_.interval().high, y);
    const bool outside = (to_low > 0 && to_high > 0) || (to_low < 0 && to_high < 0);
    const double least = outside ? std::min(std::fabs(to_low), std::fabs(to_high)) : 0.0;
    const double most = std::max(std::fabs(to_low), std::fabs(to_high));
    // 3 u of the distance, one rounding of the quotient and one of the product.
    const double low = metric_on_grid(least / unit * (1 - 0x1p-50));
    const double high = metric_on_grid(most / unit * (1 + 0x1p-50));
    if (low == high) return low;
    if (metric_grid_next(low) != high) return std::nullopt;
    const double end = metric_cell_top(low);
    const double reach = end * unit;
    if (std::fma(end, unit, -reach) != 0) return std::nullopt;
    const std::optional<int> from_above = x_.side(two_sum(y, reach));
    const std::optional<int> from_below = x_.side(two_sum(y, -reach));
    if (!from_above || !from_below) return std::nullopt;
    return *from_above <= 0 && *from_below >= 0 ? low : high;
  }

 private:
  const Quotient& x_;
  const Quotient& scale_;
  DType type_;
};

// low <= x <= high from the sums of its column.
Interval enclosure(const ColumnSums& sums, DoubleDouble total, double condition) {
  const double below = 1.03 * sums.below / total.hi;
  const double above = 1.03 * sums.above / total.hi;
  if (sums.size.hi == 0) {
    // All other values are 0: x lies between what the tiny weights make of theirs.
    return {{sums.below > 0 ? -below - kFloor : 0.0, 0}, {sums.above > 0 ? above + kFloor : 0.0, 0}};
  }
  const DoubleDouble x = divide(sums.sum, total);
  const double radius = condition * divide(sums.size, total).hi + kFloor;
  return {add(x, -(radius + below)), add(x, radius + above)};
}

}  // namespace

void DoubleDoubleTier::start_row(const RowProblem& problem, const RowExponents& exponents) {
  problem_ = &problem;
  exponents_ = &exponents;
  has_sums_ = false;
  if (!weights_.compute(exponents)) return;
  const ColumnSums total = sum_column(weights_, std::span(exponents.mass).first(exponents.size()));
  total_ = total.sum;
  condition_ = 1.03 * (2 * weights_.sum_error + 40 * 0x1p-106 + total.above / total_.hi);
  has_sums_ = total_.hi >= 0x1p300 && total_.hi <= 0x1p900 && condition_ < 0x1p-20;
}

void DoubleDoubleTier::load_column(std::size_t d) {
  values_.resize(exponents_->size());
  sizes_.resize(exponents_->size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t partition = exponents_->partition[i];
    values_[i] = partition == RowExponents::kNoPartition ? 0.0 : problem_->a[partition * problem_->depth + d];
    sizes_[i] = std::fabs(values_[i]);
  }
}

std::optional<ElementGrade> DoubleDoubleTier::grade(const RowToGrade& row, std::size_t d) {
  const OutputElement output = output_element(row, d);
  if (!has_sums_ || is_nan(output.type, output.bits) || !(output.bound >= 0)) return std::nullopt;
  load_column(d);
  const ColumnSums sums = sum_column(weights_, values_);
  if (!std::isfinite(sums.size.hi) || !std::isfinite(sums.below + sums.above)) return std::nullopt;
  const Quotient x(enclosure(sums, total_, condition_), weights_, values_);
  const ColumnSums magnitudes{sums.size, sums.size, 0, sums.below + sums.above};
  const Quotient scale(enclosure(magnitudes, total_, condition_), weights_, sizes_);
  return grade_element(DoubleDoubleAnswers(x, scale, output.type), output);
}

}  // namespace lsecheck
