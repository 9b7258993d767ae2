#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/metric_grid.h"
#include "reference/test_row.h"

namespace lsecheck {
namespace {

namespace mp = boost::multiprecision;
using Oracle = mp::number<mp::cpp_bin_float<600, mp::digit_base_2, void, std::int64_t>, mp::et_off>;

Row constant_row(double t, std::vector<double> x = {0.1f, 1.7f, -3.3f, 0.25f}) {
  std::vector<double> a(x.size(), t);
  return {std::move(x), std::move(a)};
}

double rounded_value(const Row& row, DType type) {
  const ElementGrade grade = grade_bits(row, type, 0, 1);
  EXPECT_FALSE(grade.undecided);
  return decode(type, grade.correctly_rounded);
}

// ---- closed forms

TEST(ExactReference, OnePartitionIsItself) {
  const ElementGrade grade = grade_of({{123.456f}, {0.7f}}, DType::f32, 0.7f, 0);
  EXPECT_EQ(grade.ulp, 0);
  EXPECT_EQ(grade.scaled_ulp, 0);
  EXPECT_EQ(grade.bound_use, 0);
  EXPECT_EQ(grade.steps, 0);
  EXPECT_TRUE(grade.within_bound);
  EXPECT_FALSE(grade.undecided);
}

TEST(ExactReference, EqualWeightsGiveTheMean) {
  const Row row{{5.3f, 5.3f, 5.3f, 5.3f}, {1, 2, 3, 6}};
  EXPECT_EQ(grade_of(row, DType::bf16, 3, 0).ulp, 0);
  EXPECT_EQ(grade_of(row, DType::bf16, 3, 0).scaled_ulp, 0);
}

TEST(ExactReference, DyadicWeights) {
  // weights 1, 1/4: (4 * 5 + 10) / 5 = 6; y = 6.5 is off by half, 2^-4 is ulp_bf16(6) = 2^(2-7).
  const Row row{{2, 0}, {5, 10}};
  const ElementGrade grade = grade_of(row, DType::bf16, 6.5, 0.5);
  EXPECT_EQ(grade.ulp, 16);
  EXPECT_EQ(grade.signed_ulp, 16);
  EXPECT_EQ(grade.steps, 16);
  EXPECT_EQ(grade.bound_use, 1);
  EXPECT_TRUE(grade.within_bound);
  EXPECT_EQ(grade_of(row, DType::bf16, 5.5, 0.5).signed_ulp, -16);
}

TEST(ExactReference, EmptyPartitionsAreNeverLookedAt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Row row{{-kInf, 3.5f, -kInf}, {nan, 2, kInf}, {nan, 1, -1}};
  EXPECT_EQ(grade_of(row, DType::f32, 2, 0).bound_use, 0);
}

TEST(ExactReference, MassesDivide) {
  // (a_0 + a_1) / (l_0 + l_1) at equal exponents.
  const Row row{{1.1f, 1.1f}, {3, 9}, {1, 3}};
  EXPECT_EQ(grade_of(row, DType::f32, 3, 0).ulp, 0);
}

TEST(ExactReference, SinkTakesWeight) {
  // e^0 = 1 next to 2^0: x = 6 / 2.
  EXPECT_EQ(grade_of({{0}, {6}, {}, 0.0}, DType::f32, 3, 0).ulp, 0);
  // 6 / (1 + e): by the independent implementation.
  const double x = static_cast<double>(6 / (1 + mp::exp(Oracle(1))));
  EXPECT_EQ(rounded_value({{0}, {6}, {}, 1.0}, DType::f32), static_cast<double>(static_cast<float>(x)));
  // A sink of -inf is no sink.
  EXPECT_EQ(grade_of({{0}, {6}, {}, -kInf}, DType::f32, 6, 0).ulp, 0);
  // A sink far above everything leaves next to nothing, of either sign; its sum with nothing is exactly zero.
  const Row buried{{0}, {-6}, {}, 1e30};
  EXPECT_EQ(grade_bits(buried, DType::f32, 0, 1).correctly_rounded, 0x80000000u);
  EXPECT_EQ(grade_of(buried, DType::f32, 0, 0).bound_use, kInf);
  EXPECT_EQ(grade_of({{0}, {0}, {}, 1e30}, DType::f32, 0, 0).bound_use, 0);
  EXPECT_EQ(grade_of({{0}, {0}, {}, 1.0}, DType::f32, 0, 0).bound_use, 0);
}

TEST(ExactReference, NaturalBase) {
  const Row row{{0, 1}, {1, 2}, {}, std::nullopt, ExponentBase::natural};
  const Oracle e = mp::exp(Oracle(1));
  const double x = static_cast<double>((1 + 2 * e) / (1 + e));
  EXPECT_EQ(rounded_value(row, DType::f32), static_cast<double>(static_cast<float>(x)));
  // Constant partials on a midpoint of bf16: a tie also here.
  const Row tie{{0.3f, 1.7f, 0}, std::vector<double>(3, 1.00390625), {}, std::nullopt, ExponentBase::natural};
  EXPECT_EQ(rounded_value(tie, DType::bf16), 1);
  // Equal exponents cancel exactly, unequal ones do not.
  EXPECT_EQ(grade_of({{0.3f, 0.3f, 2}, {1, -1, 0}, {}, 0.5, ExponentBase::natural}, DType::f32, 0, 0).bound_use, 0);
  EXPECT_EQ(grade_of({{0.3f, 0.4f, 2}, {1, -1, 0}, {}, 0.5, ExponentBase::natural}, DType::f32, 0, 0).bound_use, kInf);
  // Exponents far beyond the range of any format.
  EXPECT_EQ(rounded_value({{3e38f, 0}, {1, 5}, {}, std::nullopt, ExponentBase::natural}, DType::f32), 1);
}

// ---- ties

TEST(ExactReference, ConstantPartialsOnAMidpointRoundToEven) {
  struct Case {
    DType type;
    double step;  // ulp at 1
  };
  for (const Case& c : {Case{DType::bf16, 0x1p-7}, Case{DType::f16, 0x1p-10}, Case{DType::f32, 0x1p-23}}) {
    for (const double sign : {1.0, -1.0}) {
      const double below_even = sign * (1 + c.step / 2);
      const double below_odd = sign * (1 + 1.5 * c.step);
      EXPECT_EQ(rounded_value(constant_row(below_even), c.type), sign);
      EXPECT_EQ(rounded_value(constant_row(below_odd), c.type), sign * (1 + 2 * c.step));
      const ElementGrade grade = grade_of(constant_row(below_even), c.type, sign, c.step / 2);
      EXPECT_EQ(grade.ulp, 0.5);
      EXPECT_EQ(grade.scaled_ulp, 0.5);
      EXPECT_EQ(grade.signed_ulp, -0.5 * sign);
      EXPECT_EQ(grade.bound_use, 1);
      EXPECT_TRUE(grade.within_bound);
    }
  }
}

TEST(ExactReference, OffAMidpointByOneUlpOfF32) {
  const double midpoint = 1 + 0x1p-8;
  EXPECT_EQ(rounded_value(constant_row(midpoint + 0x1p-23), DType::bf16), 1 + 0x1p-7);
  EXPECT_EQ(rounded_value(constant_row(midpoint - 0x1p-23), DType::bf16), 1);
}

TEST(ExactReference, AMidpointPerturbedByAVanishingWeight) {
  // x = midpoint + w (a_1 - midpoint) with w far below every precision: the direction is that of a_1.
  const double midpoint = 1 + 0x1p-8;
  for (const double gap : {-60.5, -200.0, -1e4, -0x1p100, -0x1p127}) {
    EXPECT_EQ(rounded_value({{0.5f, gap}, {midpoint, 2}}, DType::bf16), 1 + 0x1p-7) << gap;
    EXPECT_EQ(rounded_value({{0.5f, gap}, {midpoint, -2}}, DType::bf16), 1) << gap;
    EXPECT_EQ(rounded_value({{0.5f, gap}, {midpoint, midpoint}}, DType::bf16), 1) << gap;
    // Two vanishing weights against each other, with unrelated fractions: the larger exponent decides.
    EXPECT_EQ(rounded_value({{0.5f, gap, gap * 1.125}, {midpoint, 2, -9}}, DType::bf16), 1 + 0x1p-7) << gap;
    // Equal ones cancel.
    EXPECT_EQ(rounded_value({{0.5f, gap, gap}, {midpoint, midpoint + 3, midpoint - 3}}, DType::bf16), 1) << gap;
  }
}

TEST(ExactReference, RationalTieBetweenDifferentWeights) {
  // Weights 2, 1 in one irrational class (x = 1.5, 0.5) and a constant in another: (2 a_0 + a_1) / 3 = t.
  const double t = 1 + 0x1p-8;
  EXPECT_EQ(rounded_value({{1.5f, 0.5f, 0.3f}, {t + 1, t - 2, t}}, DType::bf16), 1);
  EXPECT_EQ(rounded_value({{1.5f, 0.5f, 0.3f}, {t + 1, t - 2, t + 0x1p-40}}, DType::bf16), 1 + 0x1p-7);
}

// ---- binades, subnormals, overflow

TEST(ExactReference, UlpAtABinadeEdge) {
  // x = 1 exactly: ulp_f32 = 2^-23, although its neighbour below is 2^-24 away.
  const ElementGrade at = grade_of(constant_row(1), DType::f32, 1 - 0x1p-24);
  EXPECT_EQ(at.ulp, 0.5);
  EXPECT_EQ(at.scaled_ulp, 0.5);
  EXPECT_EQ(at.steps, 1);
  // Just below 1, by less than any precision shows: the lower binade's ulp.
  const Row below{{0, -300.5f}, {1, 0}};
  EXPECT_EQ(grade_of(below, DType::f32, 1 - 0x1p-24).ulp, 1);
  EXPECT_EQ(grade_of(below, DType::f32, 1 - 0x1p-24).scaled_ulp, 1);
  EXPECT_EQ(grade_of({{0, -300.5f}, {-1, 0}}, DType::f32, -1 + 0x1p-24).ulp, 1);
  // And just above: more than half of the upper one, and so the next number of the grid.
  EXPECT_EQ(grade_of({{0, -300.5f}, {1, 2}}, DType::f32, 1 - 0x1p-24).ulp, metric_grid_next(0.5));
}

TEST(ExactReference, ScaledUlpIsInUnitsOfTheMagnitudes) {
  // x = (64 - 63) / 2 = 1/2, C = 63.5: the error 1/2 is 2^23 ulps of x and 2^17 of C.
  const ElementGrade grade = grade_of({{0.3f, 0.3f}, {64, -63}}, DType::f32, 1);
  EXPECT_EQ(grade.ulp, 0x1p23);
  EXPECT_EQ(grade.scaled_ulp, 0x1p17);
}

TEST(ExactReference, SubnormalOutputs) {
  const double unit = smallest_subnormal(DType::f32);
  EXPECT_EQ(rounded_value(constant_row(2.5 * unit), DType::f32), 2 * unit);
  EXPECT_EQ(rounded_value(constant_row(0.5 * unit), DType::f32), 0);
  EXPECT_EQ(grade_of(constant_row(0.5 * unit), DType::f32, unit).ulp, 0.5);
  EXPECT_EQ(grade_of(constant_row(0x1p-24 * 3), DType::f16, 0x1p-24).steps, 2);
  // One-hot in a partition of negligible weight.
  for (const double gap : {-140.5f, -2000.5f, -0x1p40f, -0x1p100f}) {
    const ElementGrade grade = grade_of({{0, gap}, {0, 1}}, DType::f32, 0, 0x1p-126);
    EXPECT_FALSE(grade.undecided);
    EXPECT_TRUE(grade.within_bound);
    EXPECT_LT(grade.bound_use, 0x1p-13);
    EXPECT_LT(grade.scaled_ulp, gap == -140.5f ? 400 : 0x1p-100);
    EXPECT_EQ(grade_of({{0, gap}, {0, 1}}, DType::f32, 0, 0).bound_use, kInf) << "not exactly zero";
  }
}

TEST(ExactReference, WeightsAtTheFlushThreshold) {
  for (const double gap : {-125.0f, -126.0f, -127.5f, -149.0f}) {
    const Row row{{0, gap}, {0, 0x1p126}};
    const double x = std::exp2(gap) * 0x1p126;  // to double; 1 + 2^gap is 1 to f32
    EXPECT_EQ(rounded_value(row, DType::f32), static_cast<double>(static_cast<float>(x))) << gap;
  }
}

TEST(ExactReference, OverflowGoesToInf) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    const double threshold = overflow_threshold(type);
    const std::uint32_t inf = round_to_nearest_even(type, kInf);
    const std::uint32_t minus_inf = round_to_nearest_even(type, -kInf);
    // The threshold itself is a tie and goes to Inf.
    EXPECT_EQ(grade_bits(constant_row(threshold), type, inf, 0).correctly_rounded, inf);
    EXPECT_EQ(grade_bits(constant_row(threshold), type, inf, 0).bound_use, 0);
    EXPECT_TRUE(grade_bits(constant_row(threshold), type, inf, 0).within_bound);
    EXPECT_EQ(grade_bits(constant_row(-threshold), type, minus_inf, 0).ulp, 0);
    // The other Inf is an error, whatever the partial sums did.
    const ElementGrade wrong = grade_bits(constant_row(-threshold), type, inf, 0, true);
    EXPECT_FALSE(wrong.within_bound);
    EXPECT_EQ(wrong.bound_use, kInf);
    // Just below the threshold Inf is not due.
    const double below = std::nextafter(threshold, 0);
    EXPECT_EQ(rounded_value(constant_row(below), type), max_finite(type));
    EXPECT_FALSE(grade_bits(constant_row(below), type, inf, 0).within_bound);
    EXPECT_EQ(grade_bits(constant_row(below), type, inf, 0).bound_use, kInf);
    EXPECT_EQ(grade_bits(constant_row(below), type, inf, 0).steps, 1);
    // ... but allowed when the bound reaches it, exactly so at equality, or when the partial sums may overflow.
    EXPECT_TRUE(grade_bits(constant_row(below), type, inf, threshold - below).within_bound);
    EXPECT_FALSE(grade_bits(constant_row(below), type, inf, std::nextafter(threshold - below, 0)).within_bound);
    EXPECT_FALSE(grade_bits(constant_row(below), type, minus_inf, threshold - below).within_bound);
    const ElementGrade allowed = grade_bits(constant_row(below), type, inf, 0, true);
    EXPECT_TRUE(allowed.within_bound);
    EXPECT_EQ(allowed.bound_use, 1);
    EXPECT_NEAR(allowed.ulp, 0.5, 1e-3);  // of the next number, 2^(emax + 1)
    // Finite where Inf is due: graded as any number.
    const ElementGrade finite = grade_bits(constant_row(threshold), type, round_to_nearest_even(type, max_finite(type)),
                                           threshold - max_finite(type));
    EXPECT_TRUE(finite.within_bound);
    EXPECT_EQ(finite.bound_use, 1);
    EXPECT_EQ(finite.steps, 1);
    EXPECT_EQ(finite.ulp, 0.5);
  }
}

// ---- sentinels, cancellation

TEST(ExactReference, MaskedSentinels) {
  const double sentinel = -0x1p100;
  EXPECT_EQ(grade_of({{sentinel, sentinel, sentinel}, {1, 2, 6}}, DType::f32, 3, 0).bound_use, 0);
  const Row dominated{{sentinel, 4.2f, sentinel}, {100, 2, -77}};
  EXPECT_EQ(rounded_value(dominated, DType::f32), 2);
  EXPECT_EQ(grade_of(dominated, DType::f32, 2, 0).bound_use, kInf) << "2 + 2^-(2^100) is not 2";
  EXPECT_EQ(grade_of(dominated, DType::f32, 2, 1).bound_use, 0) << "below what the grid tells from 0";
  EXPECT_EQ(grade_of({{-1e4, 4.2f}, {100, 2}}, DType::f32, 2, 0).bound_use, kInf);
  // The fraction under a huge integer part counts: -2^100 next to itself shifted by a half would not be a double; 2^23
  // + 1/2 is.
  EXPECT_EQ(grade_of({{-0x1p23, -0x1p23 + 0.5, 0}, {1, -1, 0}}, DType::f32, 0, 0).bound_use, kInf);
}

TEST(ExactReference, CancellationToZero) {
  const ElementGrade zero = grade_of({{0.3f, 0.3f, 0.7f}, {1, -1, 0}}, DType::f32, 0, 0);
  EXPECT_EQ(zero.bound_use, 0);
  EXPECT_TRUE(zero.within_bound);
  EXPECT_EQ(zero.correctly_rounded, 0u);
  // Across integer parts of one class.
  EXPECT_EQ(grade_of({{0.25f, 1.25f, 0.7f}, {2, -1, 0}}, DType::f32, 0, 0).bound_use, 0);
  EXPECT_EQ(grade_of({{0.25f, 101.25f, 0.7f}, {0x1p101, -1, 0}}, DType::f32, 0, 0).bound_use, 0);
  // A smallest difference: not zero, and its sign is the rounded zero's.
  const Row near{{0.3f, 0.3f, -600.5f}, {1, -1, -0x1p-40}};
  EXPECT_EQ(grade_bits(near, DType::f32, 0, 1).correctly_rounded, 0x80000000u);
  EXPECT_EQ(grade_of(near, DType::f32, 0, 0).bound_use, kInf);
  // 2^0.3f against itself one ulp away: x is about 2^-25.
  const double next = std::nextafter(0.3f, 1.0f);
  const Row close{{0.3f, next}, {1, -1}};
  const Oracle w = mp::exp2(Oracle(next) - Oracle(0.3f));
  const Oracle x = (1 - w) / (1 + w);
  EXPECT_EQ(rounded_value(close, DType::f32), static_cast<double>(static_cast<float>(static_cast<double>(x))));
}

TEST(ExactReference, WithinBoundAtEquality) {
  // x = t exactly with irrational weights; the error 2^-10 equals the bound, or exceeds it by its last bit.
  const Row row = constant_row(1.5);
  const double bound = 0x1p-10;
  const ElementGrade equal = grade_of(row, DType::f32, 1.5 + bound, bound);
  EXPECT_TRUE(equal.within_bound);
  EXPECT_EQ(equal.bound_use, 1);
  const ElementGrade beyond = grade_of(row, DType::f32, 1.5 - bound, std::nextafter(bound, 0));
  EXPECT_FALSE(beyond.within_bound);
  EXPECT_GT(beyond.bound_use, 1);
  // The same with x off 1.5 by a vanishing weight: to one side of the bound or the other.
  EXPECT_FALSE(grade_of({{0, -500.5f}, {1.5, 1}}, DType::f32, 1.5 + bound, bound).within_bound);
  EXPECT_GT(grade_of({{0, -500.5f}, {1.5, 1}}, DType::f32, 1.5 + bound, bound).bound_use, 1);
  EXPECT_TRUE(grade_of({{0, -500.5f}, {1.5, 2}}, DType::f32, 1.5 + bound, bound).within_bound);
  EXPECT_LE(grade_of({{0, -500.5f}, {1.5, 2}}, DType::f32, 1.5 + bound, bound).bound_use, 1);
  // y + B that no double holds.
  EXPECT_TRUE(grade_of(constant_row(0), DType::f32, 1, 1).within_bound);
  EXPECT_FALSE(grade_of({{0, -900}, {1, 1 + 0x1p-52}}, DType::f32, 1, 0x1p-953).within_bound);
  EXPECT_TRUE(grade_of({{0, -900}, {1, 1 + 0x1p-52}}, DType::f32, 1, 0x1p-952).within_bound);
}

// ---- refusals

TEST(ExactReference, UndecidedIsAnError) {
  // L rests on a weight of 2^-(2^30) next to a partition without mass: beyond what is computed.
  const ElementGrade grade = grade_of({{0, -0x1p30}, {1, 1}, {0, 1}}, DType::f32, 1, kInf);
  EXPECT_TRUE(grade.undecided);
  EXPECT_FALSE(grade.within_bound);
  EXPECT_EQ(grade.bound_use, kInf);
}

TEST(ExactReference, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(grade_of({{nan}, {1}}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{kInf}, {1}}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{0}, {kInf}}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{0}, {1}, {-1}}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{-kInf}, {1}}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{0}, {1}, {}, kInf}, DType::f32, 1), std::invalid_argument);
  EXPECT_THROW(grade_of({{0}, {1}}, DType::f32, 1, -1), std::invalid_argument);
  EXPECT_THROW(grade_of({{0}, {1}}, DType::f32, 1, nan), std::invalid_argument);
  EXPECT_THROW(grade_bits({{0}, {1}}, DType::f32, 0x7fffffff, 1), std::invalid_argument);
  EXPECT_THROW(grade_all({{0}, {1}}, DType::f32, {0, 0}, {1, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace lsecheck
