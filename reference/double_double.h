#pragma once

#include <cmath>

// Numbers hi + lo with abs(lo) <= ulp(hi) / 2, and operations whose relative errors are proven by Joldes, Muller and
// Popescu (Tight and rigorous error bounds for basic building blocks of double-word arithmetic, ACM TOMS 44(2), 2017)
// for u = 2^-53, as long as nothing overflows or underflows. Algorithm numbers are theirs.
namespace lsecheck {

struct DoubleDouble {
  double hi = 0;
  double lo = 0;
};

// a + b exactly (2Sum).
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// a + b exactly when abs(a) >= abs(b) or a = 0 (Fast2Sum).
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// Algorithm 4, DWPlusFP: 2 u^2.
inline DoubleDouble add(DoubleDouble x, double y) {
  const DoubleDouble s = two_sum(x.hi, y);
  return fast_two_sum(s.hi, x.lo + s.lo);
}

// Algorithm 6, AccurateDWPlusDW: 3 u^2 + 13 u^3.
inline DoubleDouble add(DoubleDouble x, DoubleDouble y) {
  const DoubleDouble s = two_sum(x.hi, y.hi);
  const DoubleDouble t = two_sum(x.lo, y.lo);
  const DoubleDouble v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}

// Algorithm 7, DWTimesFP1: 1.5 u^2 + 4 u^3.
inline DoubleDouble multiply(DoubleDouble x, double y) {
  const double product = x.hi * y;
  const double residual = std::fma(x.hi, y, -product);
  const DoubleDouble t = fast_two_sum(product, x.lo * y);
  return fast_two_sum(t.hi, t.lo + residual);
}

// Algorithm 12, DWTimesDW3: 5 u^2.
inline DoubleDouble multiply(DoubleDouble x, DoubleDouble y) {
  const double product = x.hi * y.hi;
  const double residual = std::fma(x.hi, y.hi, -product);
  const double cross = std::fma(x.hi, y.lo, x.lo * y.lo);
  return fast_two_sum(product, residual + std::fma(x.lo, y.hi, cross));
}

// Algorithm 17, DWDivDW2: 15 u^2 + 56 u^3.
inline DoubleDouble divide(DoubleDouble x, DoubleDouble y) {
  const double quotient = x.hi / y.hi;
  const DoubleDouble back = multiply(y, quotient);
  const double remainder = (x.hi - back.hi) + (x.lo - back.lo);
  return fast_two_sum(quotient, remainder / y.hi);
}

// 2^(hi + lo) for -900 <= hi <= 900 and abs(lo) <= 2^-42, within kExp2DoubleDoubleError relative.
inline constexpr double kExp2DoubleDoubleError = 0x1p-96;
DoubleDouble exp2_double_double(DoubleDouble x);

}  // namespace lsecheck
