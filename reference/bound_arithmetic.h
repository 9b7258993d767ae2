#pragma once

#include <cstdint>

#include "reference/float_format.h"

// The vocabulary of an a-priori error bound: double arithmetic rounded outward, so that what is computed is never below
// (the _up functions) or never above (the _down functions) the real number that the same expression means. Exact
// results stay exact while operands and result are 0 or at least 2^-960 in magnitude. NaN operands give NaN.
namespace lsecheck {

double add_up(double a, double b);    // >= a + b
double add_down(double a, double b);  // <= a + b
double sub_up(double a, double b);    // >= a - b
double sub_down(double a, double b);  // <= a - b
double mul_up(double a, double b);    // >= a * b
double mul_down(double a, double b);  // <= a * b
double div_up(double a, double b);    // >= a / b, b != 0
double div_down(double a, double b);  // <= a / b, b != 0

// The largest relative error of one rounding to nearest in the normal range: half a unit in the last place of 1, i.e.
// 2^-precision. (abs(fl(z) - z) <= ulp(z)/2 <= 2^-precision abs(z), because ulp(z) = 2^(e+1-precision) and abs(z) >=
// 2^e.)
constexpr double unit_roundoff(DType type) {
  switch (type) {
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::f32:
      break;
  }
  return 0x1p-24;
}

// Higham's gamma_n = n u / (1 - n u), rounded up: n roundings of relative size u each, (1 + u)^n - 1 and 1 - (1 + u)^-n
// are both below it (Accuracy and Stability of Numerical Algorithms, lemma 3.1). +inf once n u >= 1. n, u >= 0.
double gamma_up(std::uint64_t n, double u);

// >= 2^delta - 1, for delta >= 0: what an error of at most delta in an exponent does to the power, as a relative error.
// Since 1 - 2^-delta <= 2^delta - 1 it bounds both directions. Within 2^-45 relative of the true
// value for 2^-900 <= delta < 1024; +inf from there on.
double pow2_minus_one_up(double delta);

// The largest absolute error of one rounding to nearest of any value of magnitude up to `magnitude` that does not round
// to Inf: half a unit in the last place at that magnitude's binade, which is at least half the smallest subnormal.
// magnitude >= 0; +inf gives +inf.
double cast_error_up(DType type, double magnitude);

}  // namespace lsecheck
