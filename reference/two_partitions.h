#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/device_callable.h"
#include "reference/element_certificate.h"
#include "reference/exp2_fraction.h"

// The weights of a row of two partitions whose LSEs are 0 and z (log2 units), for any f32 z below +inf: each is known
// relative to what it differs from 0, 1/2 or 1 by, so that every question about them can be decided however close they
// come. On the host and on a device.
namespace lsecheck {

struct TwoWeights {
  Enclosure first;       // 1 / (1 + 2^z)
  Enclosure second;      // 2^z / (1 + 2^z)
  Enclosure difference;  // first - second
};

// By symmetry z = -d, d >= 0, s = 2^-d. u = 2^-53.
//
// d <= 1/2          t = (1 - s) / (1 + s), where 1 - s = d * exp2_slope(-d) is within 3.1 u. 1 + s: s is off by 1.62 u
//                   of itself, at most 0.81 u of the sum, whose rounding adds u; the quotient's adds u: 5.91 u and
//                   second order, below 8 u. The weights are 1/2 +- t / 2.
// 1/2 < d <= 1000   w = s / (1 + s): 1.62 u + 1.81 u + u and second order, below 6 u. The weights are w and 1 - w.
// d > 1000          0 < s < 2^-1000, and w is less than that; s = 0 for d = inf. The enclosure begins at 2^-1053: a
//                   smaller w rounds to 0 like that one, lies as far from every number of a format, seen on the metric
//                   grid, and leaves the same open interval beside 1.
LSECHECK_ANYWHERE TwoWeights two_weights(double z) {
  constexpr double kUnit = 0x1p-53;
  const double d = std::fabs(z);
  TwoWeights of;  // for z = -d
  if (d <= 0.5) {
    const double slope = exp2_slope(-d);
    const double t = d * slope / (1 + std::fma(-d, slope, 1.0));
    of = {{0.5, t / 2, 4 * kUnit * t}, {0.5, -t / 2, 4 * kUnit * t}, {0, t, 8 * kUnit * t}};
  } else {
    double w = 0x1p-1000;
    double radius = 0x1p-1000 - 0x1p-1053;
    if (d <= 1000) {
      const double s = exp2_double(-d);
      w = s / (1 + s);
      radius = 6 * kUnit * w;
    } else if (d == std::numeric_limits<double>::infinity()) {
      w = radius = 0;
    }
    of = {{1, -w, radius}, {0, w, radius}, {1, -2 * w, 2 * radius}};
  }
  if (z <= 0) return of;
  return {of.second, of.first, {-of.difference.anchor, -of.difference.delta, of.difference.radius}};
}

// What a column holds under the two partitions.
struct ValuePair {
  float first;
  float second;
};
inline constexpr int kValuePairs = 4;
constexpr ValuePair value_pair(int i) {
  return {i == 1 ? 0.0F : 1.0F, i == 0 ? 0.0F : i == 3 ? -1.0F : 1.0F};
}

// x and C of column i.
struct TwoPartitionColumn {
  Enclosure x;
  Enclosure scale;
};
LSECHECK_ANYWHERE TwoPartitionColumn two_partition_column(const TwoWeights& weights, int i) {
  constexpr Enclosure kOne{1, 0, 0};
  if (i == 0) return {weights.first, weights.first};
  if (i == 1) return {weights.second, weights.second};
  if (i == 2) return {kOne, kOne};
  // abs(a) is 1 under both; where the second partition is empty the first has all the weight.
  return {weights.difference, kOne};
}

}  // namespace lsecheck
