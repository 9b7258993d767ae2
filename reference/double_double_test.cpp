#include "reference/double_double.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/exact_number.h"

namespace lsecheck {
namespace {

constexpr double kUnitSquared = 0x1p-106;

Mp exact(DoubleDouble x) {
  Mp value = make_mp(2300);
  mpfr_set_d(raw(value), x.hi, MPFR_RNDN);
  mpfr_add_d(raw(value), raw(value), x.lo, MPFR_RNDN);
  return value;
}

double relative_error(DoubleDouble got, const Mp& due) {
  Mp error = exact(got) - due;
  mpfr_div(raw(error), raw(error), raw(due), MPFR_RNDN);
  return std::fabs(mpfr_get_d(raw(error), MPFR_RNDA));
}

// Weyl sequence: the same on every machine.
double weyl(std::uint64_t index) {
  return static_cast<double>((index * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

double exp2_error(double hi, double lo) {
  const Mp x = exact({hi, lo});
  Mp due = make_mp(300);
  mpfr_exp2(raw(due), raw(x), MPFR_RNDN);
  return relative_error(exp2_double_double({hi, lo}), due);
}

TEST(DoubleDoubleTest, Exp2StaysWithinItsBound) {
  std::vector<double> points;
  for (int n = -900; n <= 900; n += 7) {
    for (const double offset : {0.0, 0.5, -0.5, 0.25, 0x1p-30, -0x1p-30}) {
      const double point = std::clamp(n + offset, -900.0, 900.0);
      points.insert(points.end(), {point, std::nextafter(point, 0), std::nextafter(point, 2 * point)});
    }
  }
  for (int k = 1; k < 140; ++k) points.insert(points.end(), {std::ldexp(1.0, -k), -std::ldexp(1.0, -k)});
  for (std::uint64_t i = 0; i < 20000; ++i) {
    points.push_back(weyl(i) - 0.5);
    points.push_back(weyl(i) * 1400 - 700);
  }
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const double lo : {0.0, (weyl(i) - 0.5) * 0x1p-41, (weyl(i) - 0.5) * std::fabs(points[i]) * 0x1p-53}) {
      const double error = exp2_error(points[i], lo);
      ASSERT_LE(error, kExp2DoubleDoubleError) << std::hexfloat << points[i] << " + " << lo;
      worst = std::max(worst, error);
    }
  }
  EXPECT_GT(worst, kExp2DoubleDoubleError / 128) << "the stated bound is far too wide";
}

DoubleDouble drawn(std::uint64_t i) {
  const double hi = std::ldexp(weyl(i) + 0.5, static_cast<int>(i % 7) * 17 - 50) * (i % 3 == 0 ? -1 : 1);
  // A low part at the end of its range, of either sign, or short.
  return fast_two_sum(hi, hi * 0x1p-53 * (i % 5 == 0 ? 0.999 : 2 * weyl(i + 99) - 1));
}

TEST(DoubleDoubleTest, OperationsStayWithinTheirBounds) {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const DoubleDouble x = drawn(i);
    DoubleDouble y = drawn(3 * i + 1);
    if (i % 4 == 0) y = {-x.hi * (1 + 0x1p-40), x.lo * 0.75};  // cancels
    const Mp a = exact(x);
    const Mp b = exact(y);
    const Mp single = exact({y.hi, 0});
    EXPECT_LE(relative_error(add(x, y), a + b), 3 * kUnitSquared + 13 * kUnitSquared * 0x1p-53);
    EXPECT_LE(relative_error(add(x, y.hi), a + single), 2 * kUnitSquared);
    EXPECT_LE(relative_error(multiply(x, y), a * b), 5 * kUnitSquared);
    EXPECT_LE(relative_error(multiply(x, y.hi), a * single), 1.5 * kUnitSquared + 4 * kUnitSquared * 0x1p-53);
    Mp quotient = make_mp(400);
    mpfr_div(raw(quotient), raw(a), raw(b), MPFR_RNDN);
    EXPECT_LE(relative_error(divide(x, y), quotient), 15 * kUnitSquared + 56 * kUnitSquared * 0x1p-53);
  }
}

}  // namespace
}  // namespace lsecheck
