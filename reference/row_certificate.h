#pragma once

#include <cmath>

#include "reference/device_callable.h"
#include "reference/element_certificate.h"
#include "reference/exp2_fraction.h"

// Enclosures of x and C of a row in double, for the host or a device: log2 exponents, every mass 1, no sink, f32
// values.
//
// Derivation, u = 2^-53; m the largest exponent, so 1 <= L / 2^m <= P.
// weight   x_p - m = s + q exactly (two-sum), abs(q) <= 2^-43 for s >= -700. 2^s within 1.62 u, the fma that multiplies
//          by 1 + q ln 2 rounds by u; what that factor leaves out is below 2^-84: 3 u in all. A smaller s is left to
//          others.
// N, C     one fma a partition: a term passes at most P roundings. Each partial sum is at most that of the magnitudes,
//          so that N is off by (3 + P) u C (1 + ..). Weights and values are at least 2^-701 and 2^-149 or 0: no product
//          underflows.
// L        a sum of P weights: (3 + P) u relative.
// x, C/L   one division each.
// With one more u for C / L standing in for its exact value the radius is k u (1 + k u) C / L, k = 2 (3 + P) + 2; 1.03
// covers the second order and the roundings of the radius. A single weight is 2^0 = 1 exactly, and then x = a.
namespace lsecheck {

inline constexpr double kLeastCertifiedExponent = -700;

// 2^(x - m) to within 3 u, for x - m >= kLeastCertifiedExponent; 0 below it.
LSECHECK_ANYWHERE double certificate_weight(double x, double m) {
  const double s = x - m;
  if (!(s >= kLeastCertifiedExponent)) return 0;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const double fraction = exp2_double(s);
  return std::fma(fraction, bound_parts::sum_residual(x, -m, s) * kLn2, fraction);
}

struct CertificateSums {
  double sum = 0;   // sum w a
  double size = 0;  // sum w abs(a)

  LSECHECK_ANYWHERE void add(double weight, double value) {
    sum = std::fma(weight, value, sum);
    size = std::fma(weight, std::fabs(value), size);
  }
};

// In units of C / L; count: the partitions that are not empty.
LSECHECK_ANYWHERE double certificate_radius(int count) {
  return count == 1 ? 0 : 1.03 * (2 * (3 + static_cast<double>(count)) + 2) * 0x1p-53;
}

LSECHECK_ANYWHERE Enclosure enclosure_of_mean(const CertificateSums& sums, double total, double radius) {
  return {sums.sum / total, sums.size / total * radius};
}
LSECHECK_ANYWHERE Enclosure enclosure_of_scale(const CertificateSums& sums, double total, double radius) {
  return {sums.size / total, sums.size / total * radius};
}

}  // namespace lsecheck
