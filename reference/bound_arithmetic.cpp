#include "reference/bound_arithmetic.h"

#include <cmath>
#include <limits>

#include "reference/elementary.h"

namespace lsecheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Above this magnitude the rounding error of a product or the remainder of a quotient is itself a double (it is a
// multiple of 2^-1074), so that the fma below computes it exactly.
constexpr double kResidualIsExact = 0x1p-960;

// A result to nearest that was rounded downward by the residual's sign is below the exact one: one step up covers it,
// since round to nearest is off by less than one step. An overflow to -inf lies below any exact value and steps up to
// the lowest finite number.
double correct_up(double nearest, double exact_minus_nearest) {
  return exact_minus_nearest > 0 ? round_up(nearest) : nearest;
}

// The exact error of a + b (Knuth's TwoSum: exact whenever nothing overflows; sums cannot underflow).
double sum_residual(double a, double b, double sum) {
  const double b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

}  // namespace

double add_up(double a, double b) {
  const double sum = a + b;
  // A finite result may still have had an overflow inside TwoSum; a step up is right whatever the residual was.
  if (!(std::fabs(sum) < 0x1p1022)) return std::isinf(a) || std::isinf(b) ? sum : round_up(sum);
  return correct_up(sum, sum_residual(a, b, sum));
}

double add_down(double a, double b) {
  return -add_up(-a, -b);
}
double sub_up(double a, double b) {
  return add_up(a, -b);
}
double sub_down(double a, double b) {
  return -add_up(-a, b);
}

double mul_up(double a, double b) {
  const double product = a * b;
  if (a == 0 || b == 0 || std::isinf(a) || std::isinf(b)) return product;
  if (!(std::fabs(product) >= kResidualIsExact) || std::isinf(product)) return round_up(product);
  return correct_up(product, std::fma(a, b, -product));
}

double mul_down(double a, double b) {
  return -mul_up(-a, b);
}

double div_up(double a, double b) {
  const double quotient = a / b;
  if (a == 0 || std::isinf(a) || std::isinf(b)) return quotient;
  // The remainder a - q b is a double when neither a nor q b comes near the underflow threshold.
  const bool remainder_exact = std::fabs(a) >= kResidualIsExact && std::fabs(quotient) >= kResidualIsExact &&
                               std::fabs(b) >= kResidualIsExact && !std::isinf(quotient);
  if (!remainder_exact) return round_up(quotient);
  const double remainder = std::fma(-quotient, b, a);
  return correct_up(quotient, b > 0 ? remainder : -remainder);
}

double div_down(double a, double b) {
  return -div_up(-a, b);
}

double gamma_up(std::uint64_t n, double u) {
  // n above 2^53 may round down when converted; one step up covers it.
  const double count = n <= (std::uint64_t{1} << 53) ? static_cast<double>(n) : round_up(static_cast<double>(n));
  const double nu = mul_up(count, u);
  const double denominator = sub_down(1.0, nu);
  return denominator > 0 ? div_up(nu, denominator) : kInfinity;
}

double pow2_minus_one_up(double delta) {
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

double cast_error_up(DType type, double magnitude) {
  if (std::isinf(magnitude)) return kInfinity;
  // ulp_at is floored at the smallest subnormal and does not decrease with the magnitude; halving a power of two is
  // exact.
  return ulp_at(type, magnitude) / 2;
}

}  // namespace lsecheck
