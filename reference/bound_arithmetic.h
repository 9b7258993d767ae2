#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/device_callable.h"
#include "reference/elementary.h"
#include "reference/float_format.h"

// The vocabulary of an a-priori error bound: double arithmetic rounded outward, so that what is computed is never below
// (the _up functions) or never above (the _down functions) the real number that the same expression means. Exact
// results stay exact while operands and result are 0 or at least 2^-960 in magnitude. NaN operands give NaN.
namespace lsecheck {

namespace bound_parts {

// Above this magnitude the rounding error of a product or the remainder of a quotient is itself a double (it is a
// multiple of 2^-1074), so that the fma below computes it exactly.
inline constexpr double kResidualIsExact = 0x1p-960;

// A result to nearest that was rounded downward by the residual's sign is below the exact one: one step up covers it,
// since round to nearest is off by less than one step. An overflow to -inf lies below any exact value and steps up to
// the lowest finite number.
LSECHECK_ANYWHERE double correct_up(double nearest, double exact_minus_nearest) {
  return exact_minus_nearest > 0 ? round_up(nearest) : nearest;
}

// The exact error of a + b (Knuth's TwoSum: exact whenever nothing overflows; sums cannot underflow).
LSECHECK_ANYWHERE double sum_residual(double a, double b, double sum) {
  const double b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

}  // namespace bound_parts

// >= a + b
LSECHECK_ANYWHERE double add_up(double a, double b) {
  const double sum = a + b;
  // A finite result may still have had an overflow inside TwoSum; a step up is right whatever the residual was.
  if (!(std::fabs(sum) < 0x1p1022)) return std::isinf(a) || std::isinf(b) ? sum : round_up(sum);
  return bound_parts::correct_up(sum, bound_parts::sum_residual(a, b, sum));
}

// <= a + b
LSECHECK_ANYWHERE double add_down(double a, double b) {
  return -add_up(-a, -b);
}

// >= a - b
LSECHECK_ANYWHERE double sub_up(double a, double b) {
  return add_up(a, -b);
}

// <= a - b
LSECHECK_ANYWHERE double sub_down(double a, double b) {
  return -add_up(-a, b);
}

// >= a * b
LSECHECK_ANYWHERE double mul_up(double a, double b) {
  const double product = a * b;
  if (a == 0 || b == 0 || std::isinf(a) || std::isinf(b)) return product;
  if (!(std::fabs(product) >= bound_parts::kResidualIsExact) || std::isinf(product)) return round_up(product);
  return bound_parts::correct_up(product, std::fma(a, b, -product));
}

// <= a * b
LSECHECK_ANYWHERE double mul_down(double a, double b) {
  return -mul_up(-a, b);
}

// >= a / b, b != 0
LSECHECK_ANYWHERE double div_up(double a, double b) {
  const double quotient = a / b;
  if (a == 0 || std::isinf(a) || std::isinf(b)) return quotient;
  // The remainder a - q b is a double when neither a nor q b comes near the underflow threshold.
  const bool remainder_exact = std::fabs(a) >= bound_parts::kResidualIsExact &&
                               std::fabs(quotient) >= bound_parts::kResidualIsExact &&
                               std::fabs(b) >= bound_parts::kResidualIsExact && !std::isinf(quotient);
  if (!remainder_exact) return round_up(quotient);
  const double remainder = std::fma(-quotient, b, a);
  return bound_parts::correct_up(quotient, b > 0 ? remainder : -remainder);
}

// <= a / b, b != 0
LSECHECK_ANYWHERE double div_down(double a, double b) {
  return -div_up(-a, b);
}

// >= (1 + a)(1 + b) - 1, for a, b >= 0: two relative errors after each other.
LSECHECK_ANYWHERE double compound(double a, double b) {
  return add_up(add_up(a, b), mul_up(a, b));
}

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
LSECHECK_ANYWHERE double gamma_up(std::uint64_t n, double u) {
  // n above 2^53 may round down when converted; one step up covers it.
  const double count = n <= (std::uint64_t{1} << 53) ? static_cast<double>(n) : round_up(static_cast<double>(n));
  const double nu = mul_up(count, u);
  const double denominator = sub_down(1.0, nu);
  return denominator > 0 ? div_up(nu, denominator) : std::numeric_limits<double>::infinity();
}

// >= 2^delta - 1, for delta >= 0: what an error of at most delta in an exponent does to the power, as a relative error.
// Since 1 - 2^-delta <= 2^delta - 1 it bounds both directions. Within 2^-45 relative of the true
// value for 2^-900 <= delta < 1024; +inf from there on.
LSECHECK_ANYWHERE double pow2_minus_one_up(double delta) {
  if (delta == 0) return 0;
  if (delta >= 0.5) {
    // exp2_double >= 2^delta (1 - kExp2RelativeError), hence 2^delta <= exp2_double / (1 - kExp2RelativeError).
    return sub_up(div_up(exp2_double(delta), sub_down(1.0, kExp2RelativeError)), 1.0);
  }
  // z = delta ln 2 < 0.35. e^z - 1 = z S_1 with S_k = 1 + z / (k + 1) S_(k+1), all factors non-negative, so that
  // rounding every step up gives an upper bound; S_12 = 1 + z/13 + z^2/(13 * 14) + ... <= 1 / (1 - z/13).
  constexpr double kLn2Up = 0x1.62e42fefa39f0p-1;  // ln 2 = 0x1.62e42fefa39ef357...p-1
  const double z = mul_up(delta, kLn2Up);
  double s = div_up(1.0, sub_down(1.0, div_up(z, 13.0)));
  for (int k = 12; k >= 2; --k) s = add_up(1.0, mul_up(div_up(z, k), s));
  return mul_up(z, s);
}

// The largest absolute error of one rounding to nearest of any value of magnitude up to `magnitude` that does not round
// to Inf: half a unit in the last place at that magnitude's binade, which is at least half the smallest subnormal.
// magnitude >= 0; +inf gives +inf.
LSECHECK_ANYWHERE double cast_error_up(DType type, double magnitude) {
  if (std::isinf(magnitude)) return std::numeric_limits<double>::infinity();
  // ulp_at is floored at the smallest subnormal and does not decrease with the magnitude; halving a power of two is
  // exact.
  return ulp_at(type, magnitude) / 2;
}

// Half an ulp of the f32 difference x - y of two f32 values, or 0 where the difference is an f32 itself.
LSECHECK_ANYWHERE double f32_subtraction_error(double x, double y) {
  const double difference = x - y;
  const double virtual_y = x - difference;  // Knuth's two-sum: the residue is what double rounding lost
  const double residue = (x - (difference + virtual_y)) - (y - virtual_y);
  if (residue == 0 && static_cast<double>(static_cast<float>(difference)) == difference) return 0;
  return cast_error_up(DType::f32, round_up(std::abs(difference)));
}

}  // namespace lsecheck
