#include "reference/exact_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lsecheck {
namespace {

double uniform(std::mt19937_64& bits, double low, double high) {
  return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
}

// abs(a.mid - b.mid) <= a.rad + b.rad: both enclose the same number.
bool overlap(const Ball& a, const Ball& b) {
  Mp distance = make_mp(4096);
  mpfr_sub(raw(distance), raw(a.mid), raw(b.mid), MPFR_RNDZ);
  Radius radii;
  mpfr_add(raw(radii), raw(a.rad), raw(b.rad), MPFR_RNDU);
  return mpfr_cmpabs(raw(distance), raw(radii)) <= 0;
}

double relative_radius(const Ball& ball) {
  Radius ratio;
  mpfr_div(raw(ratio), raw(ball.rad), raw(ball.mid), MPFR_RNDU);
  return mpfr_get_d(raw(ratio), MPFR_RNDU);
}

struct RandomSum {
  std::vector<double> x;
  std::vector<double> coefficients;

  RandomSum(std::mt19937_64& bits, std::size_t size, double spread, int exponents) {
    for (std::size_t i = 0; i < size; ++i) {
      x.push_back(static_cast<float>(uniform(bits, -spread, spread)));
      coefficients.push_back(std::ldexp(uniform(bits, -1, 1), static_cast<int>(uniform(bits, -exponents, exponents))));
    }
  }
  ExactTerms terms() const {
    std::vector<Term> list;
    for (std::size_t i = 0; i < x.size(); ++i) list.push_back({TermBase::log2, x[i], 1.0, i});
    return ExactTerms(std::move(list));
  }
};

std::size_t largest(const ExactTerms& terms) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < terms.size(); ++i) all.push_back(i);
  return terms.dominant(all);
}

TEST(TermSummer, FixedPointAndMpfrEncloseTheSameSum) {
  std::mt19937_64 bits(5);
  for (int i = 0; i < 300; ++i) {
    const RandomSum sum(bits, 1 + bits() % 40, i % 3 == 0 ? 1 : 150, i % 2 == 0 ? 1 : 200);
    ExactTerms terms = sum.terms();
    TermSummer summer(terms, largest(terms));
    const TermSums coarse = summer.sum(sum.coefficients, 0);
    const TermSums fine = summer.sum(sum.coefficients, 3);
    ASSERT_TRUE(overlap(coarse.value, fine.value));
    ASSERT_TRUE(overlap(coarse.magnitude, fine.magnitude));
    // The magnitude, which does not cancel, is known to nearly the precision of the level.
    EXPECT_LT(relative_radius(coarse.magnitude), 0x1p-110);
    EXPECT_LT(relative_radius(fine.magnitude), 0x1p-1000);
  }
}

TEST(TermSummer, MoreTermsThanFixedPointHolds) {
  std::mt19937_64 bits(6);
  const RandomSum sum(bits, 1500, 10, 5);
  ExactTerms terms = sum.terms();
  TermSummer summer(terms, largest(terms));
  const TermSums coarse = summer.sum(sum.coefficients, 0);
  EXPECT_TRUE(overlap(coarse.value, summer.sum(sum.coefficients, 2).value));
  EXPECT_LT(relative_radius(coarse.magnitude), 0x1p-110);
}

TEST(TermSummer, DyadicSumsAreExact) {
  ExactTerms terms(
      std::vector<Term>{{TermBase::log2, 0, 1, 0}, {TermBase::log2, -3, 1, 1}, {TermBase::log2, -20, 1, 2}});
  TermSummer summer(terms, 0);
  for (const std::size_t level : {0u, 1u}) {
    const TermSums sums = summer.sum(std::vector<double>{1, -2, 0x1p20}, level);
    EXPECT_TRUE(sums.value.is_exact());
    EXPECT_EQ(mpfr_cmp_d(raw(sums.value.mid), 1.75), 0);
    EXPECT_EQ(mpfr_cmp_d(raw(sums.magnitude.mid), 2.25), 0);
  }
}

TEST(TermSummer, NegligibleWeightsWidenTheBall) {
  ExactTerms terms(std::vector<Term>{{TermBase::log2, 0, 1, 0}, {TermBase::log2, -0x1p100, 1, 1}});
  TermSummer summer(terms, 0);
  const TermSums sums = summer.sum(std::vector<double>{0, -4}, 0);
  EXPECT_TRUE(sums.value.contains_zero());
  EXPECT_EQ(mpfr_cmp_ui_2exp(raw(sums.value.rad), 4, -kNegligibleBits), 0);
}

TEST(ExactTerms, ClassesAreEqualFractionsAndEqualNaturalExponents) {
  ExactTerms terms(std::vector<Term>{{TermBase::log2, 0.25, 1, 0},
                                     {TermBase::log2, -0x1p100, 1, 1},
                                     {TermBase::log2, -3.75, 1, 2},
                                     {TermBase::natural, 0.25, 1, 3},
                                     {TermBase::log2, 7, 1, 4},
                                     {TermBase::natural, 1.25, 1, 5},
                                     {TermBase::log2, 0x1p-1074, 1, 6}});
  std::vector<std::vector<std::size_t>> classes;
  for (const TermClass& term_class : terms.classes()) {
    classes.emplace_back();
    for (const TermClass::Member& member : term_class.members) classes.back().push_back(member.term);
  }
  // Fractions relative to the first term: 0.25, 0 and just above 0.75.
  const std::vector<std::vector<std::size_t>> expected{{0, 2}, {4, 1}, {6}, {3}, {5}};
  EXPECT_EQ(classes, expected);
}

TEST(ExactTerms, NaturalWeightsMeetLog2Weights) {
  // e^x and 2^(x log2 e), the latter rounded to double: equal to about 2^-50.
  ExactTerms terms(std::vector<Term>{{TermBase::natural, 3.5, 1, 0}, {TermBase::log2, 3.5 * 1.4426950408889634, 1, 1}});
  const double ratio = mpfr_get_d(raw(terms.weight(0, 0, 1).value), MPFR_RNDN);
  EXPECT_NEAR(ratio, 1, 0x1p-49);
}

}  // namespace
}  // namespace lsecheck
