#pragma once

#include <cmath>

#include "reference/device_callable.h"

// 2^r for abs(r) <= 1/2 by the Taylor polynomial of degree 14: within 1.61 * 2^-53 relative.
namespace lsecheck {

// u = 2^-53; half an ulp of a value below 2^k is at most 2^(k-1) * u.
// 2^r for abs(r) <= 1/2. Let c_k be the coefficients, p_14 = c_14, p_k = RN(c_k + r * p_(k+1)) and e_k the error of p_k
// against the exact sum over j >= k of ln2^j / j! * r^(j-k). Then e_k <= (half an ulp of c_k) + (half an ulp of p_k) +
// e_(k+1) / 2, since abs(r) <= 1/2. The exact sums are largest at r = 1/2: p_1 in (0.58, 0.83), p_2 < 0.271, p_3 <
// 0.0610, and c_k, p_k < 2^-6 from k = 4 on.
//   k >= 4: 2 * (2^-7 + 2^-7) u                                                  e_4 <= u / 32
//   k = 3:  c_3, p_3 < 2^-4                       u/32 + u/32 + u/64            e_3 <= 0.079 u
//   k = 2:  c_2 < 1/4, p_2 < 1/2                  u/8 + u/4 + 0.040 u           e_2 <= 0.415 u
//   k = 1:  c_1, p_1 in [1/2, 1)                  u/2 + u/2 + 0.208 u           e_1 <= 1.208 u
// The Taylor remainder is below (0.3466^15 / 15!) * 1.03 < 0.001 u. So 1 + r * p_1 is off by at most 0.604 u + 0.001 u
// before its own rounding, which adds u when the result is in [1, 2) and u / 2 when it is below 1. Relative to 2^r:
//   r >= 0: 2^r >= 1       (0.605 + 1) u          <= 1.61 u
//   r <  0: 2^r >= 0.7071  (0.605 + 0.5) u / 0.7071 <= 1.57 u
// p_1 > 0, so the sum that is rounded last lies on the same side of 1 as 2^r; and the quoted ranges of the exact sums
// are wider than those sums by far more than e_k, so they hold for the computed p_k.
//
// p_1 for any kind of number; multiply_add(r, p, c) is r * p + c in one rounding.
template <class Number, class MultiplyAdd>
LSECHECK_ANYWHERE Number exp2_slope(Number r, Number last, MultiplyAdd multiply_add) {
  // Correctly rounded ln(2)^k / k!, from k = 13 down to 1.
  Number p = last;
  p = multiply_add(r, p, 0x1.816193166d0f9p-40);
  p = multiply_add(r, p, 0x1.c3bd650fc2986p-36);
  p = multiply_add(r, p, 0x1.e8cac7351bb25p-32);
  p = multiply_add(r, p, 0x1.e4cf5158b8ecap-28);
  p = multiply_add(r, p, 0x1.b5253d395e7c4p-24);
  p = multiply_add(r, p, 0x1.62c0223a5c824p-20);
  p = multiply_add(r, p, 0x1.ffcbfc588b0c7p-17);
  p = multiply_add(r, p, 0x1.430912f86c787p-13);
  p = multiply_add(r, p, 0x1.5d87fe78a6731p-10);
  p = multiply_add(r, p, 0x1.3b2ab6fba4e77p-7);
  p = multiply_add(r, p, 0x1.c6b08d704a0c0p-5);
  p = multiply_add(r, p, 0x1.ebfbdff82c58fp-3);
  p = multiply_add(r, p, 0x1.62e42fefa39efp-1);
  return p;
}
inline constexpr double kExp2LastCoefficient = 0x1.314964d5878a9p-44;  // k = 14

LSECHECK_ANYWHERE double exp2_fraction(double r) {
  const double slope =
      exp2_slope(r, kExp2LastCoefficient, [](double x, double p, double c) { return std::fma(x, p, c); });
  return std::fma(r, slope, 1.0);
}

}  // namespace lsecheck
