#include "reference/bound_arithmetic.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace lsecheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> operands() {
  std::vector<double> values{
      0, 1, -1, 3, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1p1023, -0x1.fffffffffffffp1023, 1 + 0x1p-52, 0x1p-500};
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    const double magnitude = std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u);
    const int exponent = i % 3 == 0 ? static_cast<int>(random() % 2040) - 1020 : static_cast<int>(random() % 8);
    values.push_back(std::ldexp(random() % 2 == 0 ? magnitude : -magnitude, exponent));
  }
  return values;
}

using Operation = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

// What the real numbers say, rounded in the direction: the tightest bound there is.
double directed(Operation operation, double a, double b, mpfr_rnd_t direction) {
  mpfr_t x, y, exact;
  mpfr_inits2(53, x, y, static_cast<mpfr_ptr>(nullptr));
  mpfr_init2(exact, 4400);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  operation(exact, x, y, direction);
  const double result = mpfr_get_d(exact, direction);
  mpfr_clears(x, y, exact, static_cast<mpfr_ptr>(nullptr));
  return result;
}

void expect_directed(Operation operation, double (*up)(double, double), double (*down)(double, double), bool divides) {
  for (const double a : operands()) {
    for (const double b : operands()) {
      if (divides && b == 0) continue;
      const double above = directed(operation, a, b, MPFR_RNDU);
      const double below = directed(operation, a, b, MPFR_RNDD);
      ASSERT_GE(up(a, b), above) << a << " " << b;
      ASSERT_LE(down(a, b), below) << a << " " << b;
      // At most one step beyond the tightest bound, and none for exact results away from the range's ends.
      ASSERT_LE(up(a, b), std::nextafter(above, kInf));
      ASSERT_GE(down(a, b), std::nextafter(below, -kInf));
      if (above == below && std::fabs(above) > 0x1p-900 && std::fabs(above) < 0x1p900 && std::fabs(a) > 0x1p-900 &&
          std::fabs(b) > 0x1p-900) {
        ASSERT_EQ(up(a, b), above);
        ASSERT_EQ(down(a, b), above);
      }
    }
  }
}

TEST(BoundArithmetic, Addition) {
  expect_directed(mpfr_add, add_up, add_down, false);
}
TEST(BoundArithmetic, Subtraction) {
  expect_directed(mpfr_sub, sub_up, sub_down, false);
}
TEST(BoundArithmetic, Multiplication) {
  expect_directed(mpfr_mul, mul_up, mul_down, false);
}
TEST(BoundArithmetic, Division) {
  expect_directed(mpfr_div, div_up, div_down, true);
}

TEST(BoundArithmetic, ZeroStaysZeroAndInfinityStays) {
  EXPECT_EQ(add_up(0, 0), 0);
  EXPECT_EQ(mul_up(0, 5), 0);
  EXPECT_EQ(div_up(0, 5), 0);
  EXPECT_EQ(add_up(kInf, 1), kInf);
  EXPECT_EQ(mul_up(kInf, 2), kInf);
  EXPECT_EQ(add_up(0x1p1023, 0x1p1023), kInf);
}

TEST(BoundArithmetic, GammaCoversNRoundings) {
  EXPECT_EQ(gamma_up(0, 0x1p-24), 0);
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{160}, std::uint64_t{1} << 20}) {
    const double gamma = gamma_up(n, 0x1p-24);
    // (1 + u)^n - 1 to 400 bits lies below; n u / (1 - n u) itself is met within two steps.
    mpfr_t power;
    mpfr_init2(power, 400);
    mpfr_set_d(power, 1 + 0x1p-24, MPFR_RNDN);
    mpfr_pow_ui(power, power, n, MPFR_RNDU);
    mpfr_sub_ui(power, power, 1, MPFR_RNDU);
    EXPECT_LE(mpfr_cmp_d(power, gamma), 0);
    const double nu = static_cast<double>(n) * 0x1p-24;
    EXPECT_NEAR(gamma, nu / (1 - nu), gamma * 0x1p-50);
    mpfr_clear(power);
  }
  EXPECT_EQ(gamma_up(1u << 24, 0x1p-24), kInf);
  EXPECT_EQ(gamma_up(std::numeric_limits<std::uint64_t>::max(), 0x1p-24), kInf);
}

TEST(BoundArithmetic, UnitRoundoffIsHalfAnUlpOfOne) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) EXPECT_EQ(unit_roundoff(type), ulp_at(type, 1) / 2);
}

TEST(BoundArithmetic, Pow2MinusOne) {
  EXPECT_EQ(pow2_minus_one_up(0), 0);
  EXPECT_EQ(pow2_minus_one_up(2000), kInf);
  std::mt19937_64 random(9);
  mpfr_t exact;
  mpfr_init2(exact, 200);
  for (int i = 0; i < 3000; ++i) {
    const double mantissa = std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u);
    const double delta =
        std::ldexp(mantissa, i % 2 == 0 ? static_cast<int>(random() % 70) - 60 : -static_cast<int>(random() % 900));
    if (delta >= 1023) continue;
    // 2^delta - 1 = expm1(delta ln 2), to 200 bits; rounded up and down for the two comparisons.
    mpfr_const_log2(exact, MPFR_RNDU);
    mpfr_mul_d(exact, exact, delta, MPFR_RNDU);
    mpfr_expm1(exact, exact, MPFR_RNDU);
    const double computed = pow2_minus_one_up(delta);
    ASSERT_LE(mpfr_cmp_d(exact, computed), 0) << delta;
    ASSERT_LE(computed, mpfr_get_d(exact, MPFR_RNDU) * (1 + 0x1p-45)) << delta;
  }
  mpfr_clear(exact);
  for (const double delta : {0.5, std::nextafter(0.5, 0), 1.0, 0x1p-1074, 0x1p-1022, 1023.5}) {
    EXPECT_GE(pow2_minus_one_up(delta), std::expm1(delta * 0.6931471805599453) * (1 - 0x1p-48)) << delta;
    EXPECT_GT(pow2_minus_one_up(delta), 0);
  }
}

TEST(BoundArithmetic, CastErrorCoversEveryValueUpToTheMagnitude) {
  std::mt19937_64 random(4);
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    EXPECT_EQ(cast_error_up(type, 0), smallest_subnormal(type) / 2);
    EXPECT_EQ(cast_error_up(type, 1), unit_roundoff(type));
    EXPECT_EQ(cast_error_up(type, kInf), kInf);
    for (int i = 0; i < 20000; ++i) {
      const double mantissa = std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u);
      const double value = std::ldexp(mantissa, static_cast<int>(random() % 300) - 160);
      if (value >= overflow_threshold(type)) continue;
      const double error = std::fabs(decode(type, round_to_nearest_even(type, value)) - value);
      ASSERT_LE(error, cast_error_up(type, value));
      ASSERT_LE(cast_error_up(type, value), cast_error_up(type, value * 1.7));
    }
    // Attained: the midpoint next to 1.
    EXPECT_EQ(std::fabs(decode(type, round_to_nearest_even(type, 1 + unit_roundoff(type))) - (1 + unit_roundoff(type))),
              cast_error_up(type, 1 + unit_roundoff(type)));
  }
}

}  // namespace
}  // namespace lsecheck
