#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/ptx_float.h"
#include "reference/elementary.h"
#include "reference/float_format.h"

// The error of a combine of two partitions in closed form, cheap enough for every f32: lse_0 = 0, lse_1 = x, and four
// columns of values (a_0, a_1). For the host and for device code.
//
// With u = 2^-abs(x), the smaller of the two weights is u / (1 + u) and the larger 1 / (1 + u); x > 0 gives the larger
// one to partition 1. All errors are in ulps of C = sum w abs(a), the f32 ulp at the exact C's binade (scaled_ulp), C
// being the exact result of the first three columns and 1 for the last.
//
// u2 = 2^-53. exp2_double is within 1.62 u2 (elementary.h; u >= 2^-1022; below that u = 0 is off by less than
// 2^-1022). 1 + u and the quotient round by u2 each, 1 - u too: a weight is within 1.62 + 2 < 4 u2 of itself,
// (1 - u) / (1 + u) within 5 u2 of 1. y - v rounds by u2 abs(y - v). The bounds below take 8 u2 of max(v, C) and 2^-50
// relative, and the ulp of the next lower binade where v may lie in it: they are upper bounds, and larger than the
// error by 2^-25 ulp at most, except where v is within 8 u2 of a power of two.
namespace lsecheck {

inline constexpr int kPairColumns = 4;
inline constexpr double kPairValues[kPairColumns][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};

struct PairErrors {
  float scaled_ulp[kPairColumns];  // upper bounds
};

// An upper bound on abs(y - v) in units of ulp; slack: that on the error of v.
LSECHECK_BOTH float pair_error(double y, double v, double ulp, double slack) {
  const double error = (fabs(y - v) + slack) * (1 + 0x1p-50) / ulp;
  const float rounded = static_cast<float>(error);
  return static_cast<double>(rounded) < error ? float_from_bits(bits_of(rounded) + 1) : rounded;
}

// x finite; y: what the kernel stored for the four columns. A y that is not finite gives +inf.
LSECHECK_BOTH PairErrors pair_errors(float x, const float (&y)[kPairColumns]) {
  constexpr double kSlack = 8 * 0x1p-53;
  const double magnitude = fabs(static_cast<double>(x));
  const double u = magnitude <= 1022 ? exp2_double(-magnitude) : 0.0;
  const double larger = 1 / (1 + u);
  const double smaller = u / (1 + u);
  // 1 / (1 + u) is in [1/2, 1). u / (1 + u) is below 1/2 but for x = 0.
  const double ulp_larger = 0x1p-24;
  const double ulp_smaller = x == 0 ? 0x1p-24 : ulp_at(DType::f32, fmin(smaller, 0x1.fffffffffffffp-2) * (1 - kSlack));
  const bool second = x > 0;
  const double w[2] = {second ? smaller : larger, second ? larger : smaller};
  const double ulp[2] = {second ? ulp_smaller : ulp_larger, second ? ulp_larger : ulp_smaller};
  const double difference = (1 - u) / (1 + u);

  PairErrors errors;
  for (int i = 0; i < 2; ++i) errors.scaled_ulp[i] = pair_error(y[i], w[i], ulp[i], kSlack * w[i] + 0x1p-1021);
  errors.scaled_ulp[2] = pair_error(y[2], 1.0, 0x1p-23, 0.0);
  errors.scaled_ulp[3] = pair_error(y[3], second ? -difference : difference, 0x1p-23, kSlack);
  for (int i = 0; i < kPairColumns; ++i) {
    if (!(fabs(static_cast<double>(y[i])) <= 0x1p127)) errors.scaled_ulp[i] = positive_infinity();
  }
  return errors;
}

// What an x that is not finite must give: NaN everywhere for NaN and +inf, and what partition 0 alone gives for -inf.
LSECHECK_BOTH bool pair_special_holds(float x, const float (&y)[kPairColumns]) {
  for (int i = 0; i < kPairColumns; ++i) {
    const bool holds = x == negative_infinity() ? y[i] == (i == 1 ? 0.0F : 1.0F) : y[i] != y[i];
    if (!holds) return false;
  }
  return true;
}

}  // namespace lsecheck
