#pragma once

#include <cmath>
#include <cstddef>

#include "reference/exp2_taylor.h"
#include "reference/vector4.h"

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
inline double exp2_fraction(double r) {
  double p = kExp2Taylor.back();
  for (std::size_t k = kExp2Taylor.size() - 1; k-- > 0;) p = std::fma(r, p, kExp2Taylor[k]);
  return std::fma(r, p, 1.0);
}

// The same operations on four numbers.
inline Vector4 exp2_fraction(Vector4 r) {
  Vector4 p = splat(kExp2Taylor.back());
  for (std::size_t k = kExp2Taylor.size() - 1; k-- > 0;) p = fma(r, p, splat(kExp2Taylor[k]));
  return fma(r, p, splat(1.0));
}

}  // namespace lsecheck
