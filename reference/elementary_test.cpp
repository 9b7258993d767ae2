#include "reference/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace lsecheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A 300-bit MPFR number: the differences below are then exact for the purpose (errors under 2^-240 relative).
class Mpfr {
 public:
  Mpfr() { mpfr_init2(value_, 300); }
  ~Mpfr() { mpfr_clear(value_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

// abs(got - 2^x) / scale, rounded upward; scale is 2^x itself when zero is passed.
double exp2_error(double x, double got, double scale) {
  Mpfr exact, difference;
  mpfr_set_d(exact.get(), x, MPFR_RNDN);
  mpfr_exp2(exact.get(), exact.get(), MPFR_RNDN);
  mpfr_sub_d(difference.get(), exact.get(), got, MPFR_RNDN);
  if (scale == 0.0) {
    mpfr_div(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
  } else {
    mpfr_div_d(difference.get(), difference.get(), scale, MPFR_RNDN);
  }
  mpfr_abs(difference.get(), difference.get(), MPFR_RNDN);
  return mpfr_get_d(difference.get(), MPFR_RNDU);
}

// abs(got - log2 x) / (absolute + relative * abs(log2 x)), rounded upward.
double log2_bound_use(double x, double got) {
  Mpfr exact, difference, bound;
  mpfr_set_d(exact.get(), x, MPFR_RNDN);
  mpfr_log2(exact.get(), exact.get(), MPFR_RNDN);
  mpfr_sub_d(difference.get(), exact.get(), got, MPFR_RNDN);
  mpfr_mul_d(bound.get(), exact.get(), kLog2RelativeError, MPFR_RNDN);
  mpfr_abs(bound.get(), bound.get(), MPFR_RNDN);
  mpfr_add_d(bound.get(), bound.get(), kLog2AbsoluteError, MPFR_RNDN);
  mpfr_div(difference.get(), difference.get(), bound.get(), MPFR_RNDN);
  mpfr_abs(difference.get(), difference.get(), MPFR_RNDN);
  return mpfr_get_d(difference.get(), MPFR_RNDU);
}

// Weyl sequence: equidistributed in [0, 1), the same on every machine.
double weyl(std::uint64_t index) {
  return static_cast<double>((index * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

std::vector<double> with_neighbours(const std::vector<double>& points) {
  std::vector<double> all;
  for (const double point : points) {
    double below = point;
    double above = point;
    all.push_back(point);
    for (int step = 0; step < 4; ++step) {
      below = std::nextafter(below, -kInf);
      above = std::nextafter(above, kInf);
      all.push_back(below);
      all.push_back(above);
    }
  }
  return all;
}

TEST(Exp2DoubleTest, StaysWithinItsRelativeErrorOnNormalResults) {
  std::vector<double> hard;
  for (int n = -1021; n < 1024; ++n) {
    hard.push_back(n);
    hard.push_back(n + 0.5);
  }
  for (int k = 1; k <= 1074; ++k) {
    hard.push_back(std::ldexp(1.0, -k));
    hard.push_back(-std::ldexp(1.0, -k));
  }
  std::vector<double> points = with_neighbours(hard);
  points.push_back(-1022.0);
  points.push_back(std::nextafter(1024.0, 0.0));
  for (std::uint64_t i = 0; i < 100000; ++i) {
    points.push_back(weyl(i) * 2.0 - 1.0);
    points.push_back(weyl(i + 77) * 2046.0 - 1022.0);
  }
  double worst = 0;
  for (const double x : points) {
    const double error = exp2_error(x, exp2_double(x), 0.0);
    ASSERT_LE(error, kExp2RelativeError) << std::hexfloat << x;
    worst = std::max(worst, error);
  }
  EXPECT_GT(worst, kExp2RelativeError / 4) << "the stated bound is far too wide";
}

TEST(Exp2DoubleTest, IsExactAtIntegers) {
  for (int n = -1074; n < 1024; ++n) EXPECT_EQ(exp2_double(n), std::ldexp(1.0, n)) << n;
}

TEST(Exp2DoubleTest, StaysWithinTheSmallestNormalBelowIt) {
  std::vector<double> points;
  for (std::uint64_t i = 0; i < 20000; ++i) points.push_back(-1022.0 - weyl(i) * 100.0);
  for (const double x :
       with_neighbours({-1022.5, -1073.0, -1074.0, -1074.5, -1075.0, -1076.0, -1099.0, -1100.0, -1101.0})) {
    points.push_back(x);
  }
  for (const double x : points) {
    const double got = exp2_double(x);
    ASSERT_GE(got, 0.0);
    ASSERT_LE(exp2_error(x, got, 0x1p-1022), 1.0) << std::hexfloat << x;
  }
}

TEST(Exp2DoubleTest, SpecialValues) {
  EXPECT_EQ(exp2_double(1024.0), kInf);
  EXPECT_EQ(exp2_double(kInf), kInf);
  EXPECT_EQ(exp2_double(-kInf), 0.0);
  EXPECT_EQ(exp2_double(-1e300), 0.0);
  EXPECT_EQ(exp2_double(0.0), 1.0);
  EXPECT_EQ(exp2_double(-0.0), 1.0);
  EXPECT_TRUE(std::isnan(exp2_double(kNaN)));
}

TEST(Log2DoubleTest, StaysWithinItsErrorBound) {
  std::vector<double> hard = {
      1.0, 2.0, 0.5, std::sqrt(2.0), std::sqrt(0.5), 0x1.6a09e667f3bcdp0, 3.0, 10.0, 0x1.fffffffffffffp1023};
  for (int n = -1070; n < 1024; ++n) hard.push_back(std::ldexp(1.0, n));
  for (int n = -1070; n < 1024; n += 7) hard.push_back(std::ldexp(std::sqrt(2.0), n));
  for (int k = 1; k <= 52; ++k) {
    hard.push_back(1.0 + std::ldexp(1.0, -k));
    hard.push_back(1.0 - std::ldexp(1.0, -k));
  }
  std::vector<double> points = with_neighbours(hard);
  for (std::uint64_t i = 0; i < 50000; ++i) {
    points.push_back(0.5 + weyl(i) * 1.5);
    points.push_back(0.7 + weyl(i + 5) * 0.75);
    const auto bits = static_cast<std::uint64_t>(weyl(i + 9) * 0x1.ffcp62);  // any exponent
    points.push_back(std::bit_cast<double>(bits));
    points.push_back(std::bit_cast<double>((i * 0x9e3779b97f4a7c15u) >> (12 + i % 52)));  // subnormal
  }
  double worst = 0;
  for (const double x : points) {
    if (!(x > 0.0) || x == kInf) continue;
    const double use = log2_bound_use(x, log2_double(x));
    ASSERT_LE(use, 1.0) << std::hexfloat << x;
    worst = std::max(worst, use);
  }
  EXPECT_GT(worst, 0.25) << "the stated bound is far too wide";
}

TEST(Log2DoubleTest, IsExactAtPowersOfTwo) {
  for (int n = -1074; n < 1024; ++n) EXPECT_EQ(log2_double(std::ldexp(1.0, n)), n);
}

TEST(Log2DoubleTest, SpecialValues) {
  EXPECT_EQ(log2_double(0.0), -kInf);
  EXPECT_EQ(log2_double(-0.0), -kInf);
  EXPECT_EQ(log2_double(kInf), kInf);
  EXPECT_TRUE(std::isnan(log2_double(-1.0)));
  EXPECT_TRUE(std::isnan(log2_double(-kInf)));
  EXPECT_TRUE(std::isnan(log2_double(kNaN)));
}

TEST(RoundingTest, MovesToTheNeighbouringDouble) {
  for (const double x : {1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, -0x1p-1022, 1.5, -0x1.fffffffffffffp1023,
                         0x1.fffffffffffffp1023, 0.0, -0.0}) {
    EXPECT_EQ(round_up(x), std::nextafter(x, kInf)) << x;
    EXPECT_EQ(round_down(x), std::nextafter(x, -kInf)) << x;
  }
  EXPECT_EQ(round_up(kInf), kInf);
  EXPECT_EQ(round_down(-kInf), -kInf);
  EXPECT_EQ(round_up(-kInf), -std::numeric_limits<double>::max());
  EXPECT_EQ(round_down(kInf), std::numeric_limits<double>::max());
  EXPECT_TRUE(std::isnan(round_up(kNaN)));
  EXPECT_TRUE(std::isnan(round_down(kNaN)));
}

}  // namespace
}  // namespace lsecheck
