#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "kernels/sfu/sfu.h"

namespace lsecheck::sfu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormMin = std::numeric_limits<float>::denorm_min();

// Seeds of every temper: 0 any, 1 highest, 2 lowest, 3 an extreme.
constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3, 4, 7, 0xfedcba9876543210u, 0xfedcba9876543213u};

class Mpfr {
 public:
  Mpfr() { mpfr_init2(value_, 300); }
  explicit Mpfr(double x) : Mpfr() { mpfr_set_d(value_, x, MPFR_RNDN); }
  ~Mpfr() { mpfr_clear(value_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

std::int64_t ordinal(float x) {
  const auto magnitude = static_cast<std::int64_t>(bits_of(x) & 0x7fffffffu);
  return std::signbit(x) ? -magnitude : magnitude;
}

std::uint32_t weyl(std::uint32_t index) {
  return index * 0x9e3779b1u;
}

// Floats around a point: the point and three neighbours on each side.
void add_around(std::vector<float>& points, float point) {
  float below = point;
  float above = point;
  points.push_back(point);
  for (int step = 0; step < 3; ++step) {
    below = std::nextafter(below, -kInf);
    above = std::nextafter(above, kInf);
    points.push_back(below);
    points.push_back(above);
  }
}

float correctly_rounded_exp2(float x) {
  Mpfr exact(x);
  mpfr_exp2(exact.get(), exact.get(), MPFR_RNDN);
  return mpfr_get_flt(exact.get(), MPFR_RNDN);
}

// All of [-126, 128), and the whole range of small arguments.
std::vector<float> ex2_points() {
  std::vector<float> points;
  for (int n = -125; n < 128; ++n) add_around(points, static_cast<float>(n));
  for (int k = 1; k <= 125; ++k) {
    add_around(points, std::ldexp(1.0f, -k));
    add_around(points, -std::ldexp(1.0f, -k));
  }
  for (std::uint32_t i = 0; i < 2000; ++i) {
    points.push_back(static_cast<float>(weyl(i)) * 0x1p-32f * 253.9f - 125.95f);
    points.push_back(static_cast<float>(weyl(i)) * 0x1p-32f - 1.0f);
  }
  points.push_back(-126.0f);
  points.push_back(std::nextafter(-126.0f, 0.0f));
  points.push_back(std::nextafter(128.0f, 0.0f));
  std::erase_if(points, [](float x) { return std::fabs(x) < 0x1p-126f; });  // 1 exactly, see the special values
  return points;
}

// Allowed: at most two values from the correctly rounded one, then flushed.
TEST(SpecAdversaryTest, Ex2StaysWithinTwoRepresentableValues) {
  std::map<std::int64_t, int> random_steps;
  std::map<std::int64_t, int> extreme_steps;
  for (const float x : ex2_points()) {
    const std::int64_t centre = ordinal(correctly_rounded_exp2(x));
    for (const std::uint64_t seed : kSeeds) {
      const float y = spec_ex2_approx_ftz(seed, x);
      if (y == 0.0f) {
        ASSERT_EQ(x, -126.0f);
        ASSERT_EQ(bits_of(y), 0u);
        continue;
      }
      const std::int64_t steps = ordinal(y) - centre;
      ASSERT_GE(y, 0x1p-126f);
      ASSERT_LE(std::abs(steps), 2) << std::hexfloat << x << " seed " << seed;
      if (seed % 4 == 1) {
        ASSERT_EQ(steps, 2) << std::hexfloat << x;
      }
      if (seed % 4 == 2) {
        ASSERT_EQ(steps, -2) << std::hexfloat << x;
      }
      if (seed % 4 == 0) ++random_steps[steps];
      if (seed % 4 == 3) ++extreme_steps[steps];
    }
  }
  EXPECT_EQ(random_steps.size(), 5u);
  ASSERT_EQ(extreme_steps.size(), 2u);
  EXPECT_GT(extreme_steps[-2], 1000);
  EXPECT_GT(extreme_steps[2], 1000);
}

TEST(SpecAdversaryTest, Ex2IsInsideItsStatedRelativeAccuracyAndReachesMostOfIt) {
  const double stated = accuracy_of(UnitKind::spec).ex2_relative;
  double worst = 0;
  for (const float x : ex2_points()) {
    Mpfr exact(x), error;
    mpfr_exp2(exact.get(), exact.get(), MPFR_RNDN);
    for (const std::uint64_t seed : kSeeds) {
      const float y = spec_ex2_approx_ftz(seed, x);
      if (y == 0.0f) continue;
      mpfr_sub_d(error.get(), exact.get(), static_cast<double>(y), MPFR_RNDN);
      mpfr_div(error.get(), error.get(), exact.get(), MPFR_RNDN);
      const double relative = std::fabs(mpfr_get_d(error.get(), MPFR_RNDA));
      ASSERT_LE(relative, stated) << std::hexfloat << x;
      worst = std::max(worst, relative);
    }
  }
  EXPECT_GT(worst, 0.97 * stated);
}

TEST(SpecAdversaryTest, Ex2SpecialValues) {
  for (const std::uint64_t seed : kSeeds) {
    for (const float one : {0.0f, -0.0f, kDenormMin, -kDenormMin, 0x0.fffffep-126f, -0x0.fffffep-126f}) {
      EXPECT_EQ(spec_ex2_approx_ftz(seed, one), 1.0f);
    }
    for (const float huge : {128.0f, 1000.0f, 3e38f, kInf}) EXPECT_EQ(spec_ex2_approx_ftz(seed, huge), kInf);
    for (const float tiny : {std::nextafter(-126.0f, -kInf), -149.0f, -1000.0f, -3e38f, -kInf}) {
      EXPECT_EQ(bits_of(spec_ex2_approx_ftz(seed, tiny)), 0u);
    }
    EXPECT_EQ(bits_of(spec_ex2_approx_ftz(seed, kNaN)), 0x7fffffffu);
    EXPECT_EQ(bits_of(spec_ex2_approx_ftz(seed, -kNaN)), 0x7fffffffu);
  }
  EXPECT_EQ(spec_ex2_approx_ftz(1, -126.0f), 0x1.000004p-126f);
  EXPECT_EQ(spec_ex2_approx_ftz(2, -126.0f), 0.0f) << "the lowest allowed value is subnormal and flushed";
}

std::vector<float> lg2_points() {
  std::vector<float> points;
  for (int n = -149; n < 128; ++n) add_around(points, std::ldexp(1.0f, n));
  for (int k = 1; k <= 23; ++k) {
    add_around(points, 1.0f + std::ldexp(1.0f, -k));
    add_around(points, 1.0f - std::ldexp(1.0f, -k));
  }
  for (std::uint32_t i = 0; i < 3000; ++i) {
    points.push_back(std::bit_cast<float>(weyl(i) % 0x7f800000u));
    points.push_back(std::bit_cast<float>(weyl(i) % 0x00800000u));
    points.push_back(0.5f + static_cast<float>(weyl(i)) * 0x1p-32f * 1.5f);
  }
  points.push_back(std::numeric_limits<float>::max());
  std::erase_if(points, [](float x) { return !(x > 0.0f && x < kInf); });
  return points;
}

struct Lg2Error {
  double error;      // y - log2 x in units of the documented tolerance
  double one_above;  // the same for the next representable value above y
  double one_below;
};

Lg2Error lg2_error(float x, float y) {
  Mpfr exact(x), tolerance(0x1p-22);
  mpfr_log2(exact.get(), exact.get(), MPFR_RNDN);
  if (!(x > 0.5f && x < 2.0f)) {
    mpfr_abs(tolerance.get(), exact.get(), MPFR_RNDN);
    mpfr_mul_2si(tolerance.get(), tolerance.get(), -22, MPFR_RNDN);
  }
  const auto scaled = [&](float value) {
    Mpfr difference(value);
    mpfr_sub(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
    mpfr_div(difference.get(), difference.get(), tolerance.get(), MPFR_RNDN);
    return mpfr_get_d(difference.get(), MPFR_RNDA);
  };
  return {scaled(y), scaled(std::nextafter(y, kInf)), scaled(std::nextafter(y, -kInf))};
}

TEST(SpecAdversaryTest, Lg2StaysWithinTheDocumentedErrorAndReachesIt) {
  for (const float x : lg2_points()) {
    const float highest = spec_lg2_approx(1, x);
    const float lowest = spec_lg2_approx(2, x);
    ASSERT_LT(lowest, highest);
    for (const std::uint64_t seed : kSeeds) {
      const float y = spec_lg2_approx(seed, x);
      const Lg2Error e = lg2_error(x, y);
      ASSERT_LE(std::fabs(e.error), 1.0) << std::hexfloat << x << " seed " << seed;
      // The interval gives up no more than the error of its double arithmetic: 2^-26 of the tolerance.
      if (seed % 4 == 1) {
        ASSERT_GT(e.one_above, 1.0 - 0x1p-24) << std::hexfloat << x;
      }
      if (seed % 4 == 2) {
        ASSERT_LT(e.one_below, -1.0 + 0x1p-24) << std::hexfloat << x;
      }
      if (seed % 4 == 3) {
        ASSERT_TRUE(y == highest || y == lowest) << std::hexfloat << x;
      }
    }
  }
}

TEST(SpecAdversaryTest, Lg2OfOneIsNotExact) {
  EXPECT_EQ(spec_lg2_approx(1, 1.0f), std::nextafter(0x1p-22f, 0.0f));
  EXPECT_EQ(spec_lg2_approx(2, 1.0f), -std::nextafter(0x1p-22f, 0.0f));
  EXPECT_NE(spec_lg2_approx(0, 1.0f), 0.0f);
}

TEST(SpecAdversaryTest, Lg2SpecialValues) {
  for (const std::uint64_t seed : kSeeds) {
    EXPECT_EQ(spec_lg2_approx(seed, 0.0f), -kInf);
    EXPECT_EQ(spec_lg2_approx(seed, -0.0f), -kInf);
    EXPECT_EQ(spec_lg2_approx(seed, kInf), kInf);
    for (const float invalid : {-kDenormMin, -1.0f, -kInf, kNaN, -kNaN}) {
      EXPECT_EQ(bits_of(spec_lg2_approx(seed, invalid)), 0x7fffffffu) << invalid;
    }
  }
}

std::vector<float> rcp_points() {
  std::vector<float> points;
  for (int n = -125; n < 128; ++n) add_around(points, std::ldexp(1.0f, n));
  for (std::uint32_t i = 0; i < 5000; ++i) {
    points.push_back(std::bit_cast<float>(0x00800000u + weyl(i) % 0x7f000000u));
    points.push_back(1.0f + static_cast<float>(weyl(i) >> 9) * 0x1p-23f);
  }
  points.push_back(0x1p-126f);
  points.push_back(std::numeric_limits<float>::max());
  const std::size_t positive = points.size();
  for (std::size_t i = 0; i < positive; ++i) points.push_back(-points[i]);
  return points;
}

// (y - 1/x) in units of the ulp at the binade of 1/x.
double rcp_error(float x, float y) {
  Mpfr exact(x), difference(y);
  mpfr_ui_div(exact.get(), 1, exact.get(), MPFR_RNDN);
  const long binade = std::max<long>(mpfr_get_exp(exact.get()) - 1, -126);
  mpfr_sub(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
  mpfr_mul_2si(difference.get(), difference.get(), 23 - binade, MPFR_RNDN);
  return mpfr_get_d(difference.get(), MPFR_RNDA);
}

TEST(SpecAdversaryTest, RcpStaysWithinOneUlpAndReachesBothEnds) {
  const double stated = accuracy_of(UnitKind::spec).rcp_relative;
  double worst_relative = 0;
  std::set<int> values_allowed;
  for (const float x : rcp_points()) {
    const float highest = spec_rcp_approx_ftz(1, x);
    const float lowest = spec_rcp_approx_ftz(2, x);
    for (const std::uint64_t seed : kSeeds) {
      const float y = spec_rcp_approx_ftz(seed, x);
      ASSERT_EQ(std::signbit(x), std::signbit(y));
      if (y == 0.0f) {
        ASSERT_GE(std::fabs(x), 0x1p126f);
        continue;
      }
      ASSERT_GE(std::fabs(y), 0x1p-126f);
      ASSERT_LE(std::fabs(rcp_error(x, y)), 1.0) << std::hexfloat << x << " seed " << seed;
      if (seed % 4 == 3) {
        ASSERT_TRUE(y == highest || y == lowest);
      }
      worst_relative = std::max(worst_relative, std::fabs(static_cast<double>(y) * x - 1.0));
    }
    if (std::fabs(x) >= 0x1p126f) continue;
    ASSERT_GT(rcp_error(x, std::nextafter(highest, kInf)), 1.0) << std::hexfloat << x;
    ASSERT_LT(rcp_error(x, std::nextafter(lowest, -kInf)), -1.0) << std::hexfloat << x;
    values_allowed.insert(static_cast<int>(ordinal(highest) - ordinal(lowest)) + 1);
  }
  EXPECT_LE(worst_relative, stated);
  EXPECT_GT(worst_relative, 0.99 * stated);
  // The two neighbours of an unrepresentable 1/x; at a power of two itself, one above and two below.
  EXPECT_EQ(values_allowed, (std::set<int>{2, 4}));
}

TEST(SpecAdversaryTest, RcpSpecialValues) {
  for (const std::uint64_t seed : kSeeds) {
    for (const float tiny : {0.0f, kDenormMin, 0x0.fffffep-126f}) {
      EXPECT_EQ(spec_rcp_approx_ftz(seed, tiny), kInf);
      EXPECT_EQ(spec_rcp_approx_ftz(seed, -tiny), -kInf);
    }
    EXPECT_EQ(bits_of(spec_rcp_approx_ftz(seed, kInf)), 0u);
    EXPECT_EQ(bits_of(spec_rcp_approx_ftz(seed, -kInf)), 0x80000000u);
    EXPECT_EQ(bits_of(spec_rcp_approx_ftz(seed, 0x1.8p126f)), 0u);
    EXPECT_EQ(bits_of(spec_rcp_approx_ftz(seed, -0x1.8p126f)), 0x80000000u);
    EXPECT_EQ(bits_of(spec_rcp_approx_ftz(seed, kNaN)), 0x7fffffffu);
  }
  // 2^-126 is one subnormal ulp from 1 / (2^126 (1 + 2^-23)); its other neighbour is flushed.
  EXPECT_EQ(spec_rcp_approx_ftz(1, 0x1.000002p126f), 0x1p-126f);
  EXPECT_EQ(spec_rcp_approx_ftz(2, 0x1.000002p126f), 0.0f);
}

// The digest of a run over the points, forwards or backwards: a result may depend on nothing but the arguments.
std::uint64_t run_digest(std::vector<float> points, std::uint64_t seed, bool backwards) {
  if (backwards) std::reverse(points.begin(), points.end());
  std::uint64_t sum = 0;
  for (const float x : points) {
    sum += (bits_of(spec_ex2_approx_ftz(seed, x)) ^ (std::uint64_t{bits_of(x)} << 32)) * 0x9e3779b97f4a7c15u;
    sum += (bits_of(spec_lg2_approx(seed, x)) ^ (std::uint64_t{bits_of(x)} << 31)) * 0xbf58476d1ce4e5b9u;
    sum += (bits_of(spec_rcp_approx_ftz(seed, x)) ^ (std::uint64_t{bits_of(x)} << 30)) * 0x94d049bb133111ebu;
  }
  return sum;
}

TEST(SpecAdversaryTest, IsAPureFunctionOfItsArguments) {
  const std::vector<float> points = rcp_points();
  std::set<std::uint64_t> digests;
  for (const std::uint64_t seed : kSeeds) {
    EXPECT_EQ(run_digest(points, seed, false), run_digest(points, seed, true)) << seed;
    digests.insert(run_digest(points, seed, false));
  }
  EXPECT_EQ(digests.size(), std::size(kSeeds)) << "two seeds gave the same unit";
  EXPECT_EQ(run_digest(points, 1, false), run_digest(points, 5, false)) << "tempers 1 and 2 do not depend on the rest";
}

}  // namespace
}  // namespace lsecheck::sfu
