#include "reference/certified_exponents.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/certified_weight.h"
#include "reference/exact_number.h"
#include "reference/test_row.h"

namespace lsecheck {
namespace {

constexpr mpfr_prec_t kPrecision = 2400;  // every difference of doubles is exact

Mp in_log2_units(double x, bool natural) {
  Mp value = make_mp(kPrecision);
  mpfr_const_log2(raw(value), MPFR_RNDN);
  if (natural) {
    mpfr_d_div(raw(value), x, raw(value), MPFR_RNDN);
  } else {
    mpfr_set_d(raw(value), x, MPFR_RNDN);
  }
  return value;
}

// Holds the exponents of a row against their definition. The reference is free: it is taken from the first term that
// is not far below.
void expect_good_exponents(const Row& row, double error) {
  RowExponents exponents;
  ASSERT_TRUE(exponents.build(row.problem()));
  std::vector<Mp> due;
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    const bool is_sink = exponents.partition[i] == RowExponents::kNoPartition;
    due.push_back(is_sink ? in_log2_units(*row.sink, true)
                          : in_log2_units(row.x[exponents.partition[i]], row.base == ExponentBase::natural));
  }
  std::size_t top = 0;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (due[i] > due[top]) top = i;
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_LE(exponents.hi[i], 0x1p-40);
    const Mp exponent = due[i] - due[top];
    if (exponents.is_tiny(i)) {
      EXPECT_LT(exponent, RowExponents::kLeastExponent) << i;
      continue;
    }
    EXPECT_LE(std::fabs(exponents.lo[i]), 0x1p-42);
    Mp got = make_mp(kPrecision);
    mpfr_set_d(raw(got), exponents.hi[i], MPFR_RNDN);
    mpfr_add_d(raw(got), raw(got), exponents.lo[i], MPFR_RNDN);
    // Both ends carry an error: the term and the reference.
    EXPECT_LE(abs(Mp(got - exponent)), 2 * error) << i << " of " << due.size();
  }
}

TEST(RowExponents, AreWithinTheirError) {
  const double next = std::nextafter(0.3f, 1.0f);
  const std::vector<std::vector<double>> rows = {
      {0.3f, next, -5.25f},
      {1e6f, 1e6f - 0.0625f, 999999},
      {-0x1p100, -0x1p100},
      {-1e4, 4.2f, -600.1f},
      {0x1p-100, 1.3f, -690.7f},
      {-699.99f, -0.3f, -0.3f - 0x1p-30},
      {1e300, 1e300 - 1e284},
      {-1e308, 1e308, 1e308},
      {std::nextafter(-700.0, 0), 0, 0x1p-60},
      {0x1p-1074, -0x1p-1074, 650.123456789},
  };
  for (const std::vector<double>& x : rows) {
    const std::vector<double> a(x.size(), 1.0);
    for (const ExponentBase base : {ExponentBase::log2, ExponentBase::natural}) {
      expect_good_exponents({x, a, {}, std::nullopt, base}, RowExponents::kExponentError);
      for (const double sink : {0.0, 1.3, -0.7, 8.1, 700.3, -480.9, 1023.7, -1000.1}) {
        expect_good_exponents({x, a, {}, sink, base}, RowExponents::kExponentError);
      }
    }
  }
}

TEST(RowExponents, OfAHugeSinkAreCoarse) {
  for (const double sink : {6e9, -6e9, 1100.5, 1e12 + 0.25}) {
    const double near = std::round(sink * 1.4426950408889634);
    const Row row{{near, near - 30, near + 41}, {1, 1, 1}, {}, sink};
    RowExponents exponents;
    ASSERT_TRUE(exponents.build(row.problem()));
    EXPECT_FALSE(exponents.is_sharp());
    expect_good_exponents(row, RowExponents::kCoarseExponentError);
  }
  RowExponents exponents;
  EXPECT_FALSE(exponents.build(Row{{0}, {1}, {}, 1e30}.problem()));
}

TEST(RowExponents, RefuseWhatIsOutsideTheDomain) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  RowExponents exponents;
  for (const Row& row :
       {Row{{nan}, {1}}, Row{{0, nan}, {1, 1}}, Row{{kInf}, {1}}, Row{{-kInf}, {1}}, Row{{0}, {1}, {-1}},
        Row{{0}, {1}, {nan}}, Row{{0}, {1}, {kInf}}, Row{{0}, {1}, {}, nan}, Row{{0}, {1}, {}, kInf}}) {
    EXPECT_FALSE(exponents.build(row.problem()));
  }
}

// ---- the weights that the double tier makes of them

double weyl(std::uint64_t index) {
  return static_cast<double>((index * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

TEST(ScaledWeight, StaysWithinItsBound) {
  std::vector<double> points = {0, 1, -700};
  for (int n = -699; n <= 0; ++n) {
    for (const double point : {n + 0.5, n + 0.0}) {
      points.insert(points.end(), {point, std::nextafter(point, -1000), std::nextafter(point, 1000)});
    }
  }
  for (int k = 1; k < 200; ++k) points.insert(points.end(), {std::ldexp(1.0, -k), -std::ldexp(1.0, -k)});
  for (std::uint64_t i = 0; i < 40000; ++i) {
    points.push_back(weyl(i) - 0.5);
    points.push_back(weyl(i) * -700);
  }
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double lo = (weyl(i) - 0.5) * (i % 3 == 0 ? 0x1p-41 : i % 3 == 1 ? 0x1p-53 : 0);
    const double got = scaled_weight(splat(points[i]), splat(lo))[i % 4];
    Mp due = make_mp(1200);
    mpfr_set_d(raw(due), points[i], MPFR_RNDN);
    mpfr_add_d(raw(due), raw(due), lo + 0.0, MPFR_RNDN);
    mpfr_add_si(raw(due), raw(due), kWeightScale, MPFR_RNDN);
    mpfr_prec_round(raw(due), 200, MPFR_RNDN);
    mpfr_exp2(raw(due), raw(due), MPFR_RNDN);
    const double error = std::fabs(((Mp(got) - due) / due).convert_to<double>());
    ASSERT_LE(error, kWeightError) << std::hexfloat << points[i] << " + " << lo;
    worst = std::max(worst, error);
  }
  EXPECT_GT(worst, kWeightError / 3) << "the stated bound is far too wide";
}

}  // namespace
}  // namespace lsecheck
