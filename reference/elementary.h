#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/device_callable.h"
#include "reference/exp2_fraction.h"
#include "reference/float_format.h"

// exp2 and log2 in double with bounds derived beside the code, built from + - * / fma alone: the same bits on every
// machine and under every libm. Used where a bound or a generated case needs them.
//
// exp2: x = n + r with n the nearest integer, exp2_fraction for 2^r. Proven 1.62 * 2^-53 relative.
// log2: x = 2^e * m with m in [sqrt(1/2), sqrt 2], atanh series of degree 21. Proven 2.4 * 2^-53 + 2^-53 * abs(log2 x).
//
// In the derivations u = 2^-53; half an ulp of a value below 2^k is at most 2^(k-1) * u.
namespace lsecheck {

// 2^x. abs(result / 2^x - 1) <= kExp2RelativeError for -1022 <= x < 1024; exact for integer x in that range;
// below -1022: 0 <= result and abs(result - 2^x) <= 2^-1022; x >= 1024: +inf; -inf: 0; NaN: NaN.
inline constexpr double kExp2RelativeError = 0x1p-52;
LSECHECK_ANYWHERE double exp2_double(double x) {
  if (x != x) return std::numeric_limits<double>::quiet_NaN();
  if (x >= 1024.0) return std::numeric_limits<double>::infinity();
  if (x < -1100.0) return 0.0;

  // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer. x - n is exact: it is a multiple of ulp(x) or of
  // 2^-53, whichever is larger, and at most 1/2 in size; or n = 0.
  constexpr double kRoundToInteger = 0x1.8p52;
  const double nearest = (x + kRoundToInteger) - kRoundToInteger;
  const double fraction = exp2_fraction(x - nearest);

  // Two exact factors, because n reaches 1024 (with fraction < 1: x <= 1024 - 2^-43) and -1100. For x >= -1022 the
  // result is normal (n = -1022 comes with r >= 0, so fraction >= 1) and nothing is rounded here. Below, the last
  // product rounds to a multiple of 2^-1074: the error is at most 2^-1075 + 2^-52 * 2^-1022.
  const int n = static_cast<int>(nearest);
  const int half = n / 2;
  return fraction * two_to_the(half) * two_to_the(n - half);
}

// log2 x for finite x > 0 (subnormals included). abs(result - log2 x) <= kLog2AbsoluteError + kLog2RelativeError *
// abs(log2 x); exact for powers of two. 0: -inf; +inf: +inf; negative or NaN: NaN.
inline constexpr double kLog2AbsoluteError = 0x1p-51;
inline constexpr double kLog2RelativeError = 0x1p-53;
LSECHECK_ANYWHERE double log2_double(double x) {
  if (x != x || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (x == std::numeric_limits<double>::infinity()) return x;

  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++exponent;
  }

  // f is exact (m within [1/2, 2] of 1). s = f / (2 + f) has two roundings: 2.01 u relative, abs(s) <= 0.1716, z = s^2
  // <= 0.02945.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  // Correctly rounded (2 / ln 2) / (2k + 1), from k = 10 down to 0: log2((1 + s) / (1 - s)) is s times the sum of
  // these times s^(2k).
  double q = 0x1.1964ec6fc9491p-3;
  q = std::fma(z, q, 0x1.3703c1f4d0ffep-3);
  q = std::fma(z, q, 0x1.5b9ac9b743f0dp-3);
  q = std::fma(z, q, 0x1.89f3b1694cffep-3);
  q = std::fma(z, q, 0x1.c68f568d31760p-3);
  q = std::fma(z, q, 0x1.0c9a84994022dp-2);
  q = std::fma(z, q, 0x1.484b13d7c02a9p-2);
  q = std::fma(z, q, 0x1.a61762a7aded9p-2);
  q = std::fma(z, q, 0x1.2776c50ef9bfep-1);
  q = std::fma(z, q, 0x1.ec709dc3a03fdp-1);
  q = std::fma(z, q, 0x1.71547652b82fep+1);

  // Relative errors of s * Q(z) against log2 m:
  //   s       2.01 u, amplified by s * d/ds atanh(s) / atanh(s) <= 1 / (1 - s^2) <= 1.031           2.08 u
  //   z       u, moves Q by z * Q'(z) * u <= 0.030 u against Q >= 2.885                              0.02 u
  //   Q       last step: c_0 and q_0 in [2, 4), half an ulp each is 2u; the step before (values below 1: u/2 + u/2 +
  //   0.1 u) comes
  //           in times z <= 0.03: 4.04 u against 2.885                                               1.41 u
  //   series  0.02945^11 / 23 * 1.04                                                                0.01 u
  //   product                                                                                        u
  // In all 4.52 u, 4.6 u with the terms of second order. abs(log2 m) <= 1/2 (+ 2^-53) makes that 2.31 u absolute.
  const double log2_m = s * q;
  // exponent = 0: exact. Otherwise one rounding of at most u * abs(result): in all 2.4 u + u * abs(log2 x).
  return static_cast<double>(exponent) + log2_m;
}

// Next double towards +inf of a correctly rounded result: turns round-to-nearest into an upper bound.
LSECHECK_ANYWHERE double round_up(double x) {
  if (x != x || x == std::numeric_limits<double>::infinity()) return x;
  if (x == 0.0) return std::numeric_limits<double>::denorm_min();
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>(x > 0.0 ? bits + 1 : bits - 1);
}

// Next double towards -inf.
LSECHECK_ANYWHERE double round_down(double x) {
  return -round_up(-x);
}

}  // namespace lsecheck
