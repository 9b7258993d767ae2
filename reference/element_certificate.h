#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/bound_arithmetic.h"
#include "reference/device_callable.h"
#include "reference/float_format.h"
#include "reference/grade.h"
#include "reference/metric_grid.h"

// Grades one output element in double, on the host or on a device: what certified_double_grade.cpp does for four
// elements at a time. Each question is asked of both ends of an enclosure: rounding to the output type, the binade and
// the metric grid are monotone, so equal answers hold for everything in between. u = 2^-53.
namespace lsecheck {

// A real number: centre to within radius.
struct Enclosure {
  double centre = 0;
  double radius = 0;
};

namespace certificate {

struct Ends {
  double low;
  double high;
};
// An x that is exactly 0 has two ends of +0: adding +0 makes that of -0, which a difference rounded downward gives.
LSECHECK_ANYWHERE Ends ends_of(const Enclosure& x) {
  return {sub_down(x.centre, x.radius) + 0.0, add_up(x.centre, x.radius) + 0.0};
}

template <DType type>
LSECHECK_ANYWHERE double value_of(std::uint32_t bits) {
  static_assert(type != DType::f16);
  return static_cast<double>(std::bit_cast<float>(type == DType::bf16 ? bits << 16 : bits));
}

// x below the overflow threshold rounded to nearest even, in the binade 2^exponent of x: adding 1.5 * 2^52 units of
// x's last place leaves an integer number of them. The sign is x's.
template <DType type>
LSECHECK_ANYWHERE std::uint32_t rounded_bits(double x, int exponent) {
  static_assert(type != DType::f16);
  const double shifter = 0x1.8p52 * two_to_the(exponent + 1 - format_of(type).precision);
  const double rounded = (x + shifter) - shifter;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::copysign(rounded, x)));
  return type == DType::bf16 ? bits >> 16 : bits;
}

template <DType type>
LSECHECK_ANYWHERE std::int64_t ordinal_of(std::uint32_t bits) {
  const std::uint32_t sign = std::uint32_t{1} << (format_of(type).bits - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

// Ends of abs(y - x).
struct Distance {
  double least;
  double most;
  bool negative;  // y < x, where least > 0
};

// y - centre is the difference and its residual exactly.
LSECHECK_ANYWHERE Distance distance_to(double y, const Enclosure& x) {
  const double difference = y - x.centre;
  const double rest = bound_parts::sum_residual(y, -x.centre, difference);
  const double low = add_down(difference, sub_down(rest, x.radius));
  const double high = add_up(difference, add_up(rest, x.radius));
  const double least = low > 0 ? low : high < 0 ? -high : 0.0;
  return {least, std::max(-low, high), high < 0};
}

}  // namespace certificate

// The grade of the finite output `bits` against x, where C is enclosed by `scale`; false: some question stays open, and
// `grade` means nothing. bound: as in RowToGrade.
template <DType type>
LSECHECK_ANYWHERE bool certify_element(const Enclosure& x, const Enclosure& scale, std::uint32_t bits, double bound,
                                       ElementGrade& grade) {
  using namespace certificate;
  constexpr FloatFormat kFormat = format_of(type);
  const Ends ends = ends_of(x);
  const double threshold = overflow_threshold(type);
  if (!(std::fabs(ends.low) < threshold && std::fabs(ends.high) < threshold)) return false;
  const int exponent = clamped_exponent(type, ends.low);
  if (exponent != clamped_exponent(type, ends.high)) return false;
  const std::uint32_t rounded = rounded_bits<type>(ends.low, exponent);
  if (rounded != rounded_bits<type>(ends.high, exponent)) return false;
  const Ends scale_ends = ends_of(scale);
  const int scale_exponent = std::min(clamped_exponent(type, std::max(scale_ends.low, 0.0)), kFormat.max_exponent);
  if (!(scale_ends.high < std::numeric_limits<double>::infinity()) ||
      scale_exponent != std::min(clamped_exponent(type, scale_ends.high), kFormat.max_exponent)) {
    return false;
  }

  // 1 / ulp is a power of two: the products are exact, or so small that both are below kMetricZero.
  const Distance distance = distance_to(value_of<type>(bits), x);
  const double per_ulp = two_to_the(kFormat.precision - 1 - exponent);
  const double ulp = metric_on_grid(distance.most * per_ulp);
  if (ulp != metric_on_grid(distance.least * per_ulp)) return false;

  // Two roundings: below 8 u. An underflow leaves both ends below kMetricZero; an overflow gives +inf, as the grid
  // does.
  double use = 0;
  if (distance.most != 0 || !(bound >= 0)) {
    if (!(bound >= 0x1p-1000 && bound < std::numeric_limits<double>::infinity())) return false;
    use = metric_on_grid(distance.most / bound * (1 + 0x1p-50));
    if (use != metric_on_grid(distance.least / bound * (1 - 0x1p-50))) return false;
  }

  const std::int64_t steps = ordinal_of<type>(bits) - ordinal_of<type>(rounded);
  grade.ulp = ulp;
  grade.scaled_ulp = metric_scaled(ulp, two_to_the(exponent - scale_exponent));
  grade.bound_use = use;
  grade.signed_ulp = distance.negative && ulp > 0 ? -ulp : ulp;
  grade.steps = steps < 0 ? -steps : steps;
  grade.correctly_rounded = rounded;
  grade.within_bound = use <= 1;
  grade.undecided = false;
  return true;
}

}  // namespace lsecheck
