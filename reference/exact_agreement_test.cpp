#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "reference/metric_grid.h"
#include "reference/test_row.h"

// The exact reference against an independent implementation of the same definitions.
namespace lsecheck {
namespace {

namespace mp = boost::multiprecision;
// Other code, other rounding: cpp_bin_float, whose exp2 and log may lose 10 bits, so that of 600 the first 560 are
// trusted.
using Oracle = mp::number<mp::cpp_bin_float<600, mp::digit_base_2, void, std::int64_t>, mp::et_off>;

struct RandomRow {
  std::mt19937_64 bits;
  explicit RandomRow(std::uint64_t seed) : bits(seed) {}

  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 40) * 0x1p-24); }
  Row draw(double spread, bool masses, bool cancelling) {
    Row row;
    const std::size_t partitions = 1 + bits() % 12;
    for (std::size_t p = 0; p < partitions; ++p) {
      row.x.push_back(static_cast<float>(uniform(-spread, spread)));
      if (masses) row.l.push_back(static_cast<float>(uniform(0.5, 300)));
      const float value = static_cast<float>(uniform(-4, 4));
      row.a.push_back(cancelling && p % 2 == 1 ? -row.a.back() * (1 + 0x1p-20) : value);
      if (cancelling && p % 2 == 1) row.x.back() = row.x[p - 1];
    }
    return row;
  }
};

struct OracleRow {
  Oracle n = 0, l = 0, magnitude = 0;
  explicit OracleRow(const Row& row) {
    const double top = *std::max_element(row.x.begin(), row.x.end());
    for (std::size_t p = 0; p < row.x.size(); ++p) {
      const Oracle exponent = Oracle(row.x[p]) - top;
      const Oracle w = row.base == ExponentBase::log2 ? mp::exp2(exponent) : mp::exp(exponent);
      n += w * row.a[p];
      magnitude += w * std::fabs(row.a[p]);
      l += w * (row.l.empty() ? 1.0 : row.l[p]);
    }
    if (row.sink) {
      const Oracle ln2 = mp::log(Oracle(2));
      l += mp::exp(Oracle(*row.sink) - (row.base == ExponentBase::log2 ? top * ln2 : Oracle(top)));
    }
  }
  Oracle x() const { return n / l; }
};

double on_grid(const Oracle& metric) {
  const double near = static_cast<double>(metric);
  return metric_on_grid(Oracle(near) < metric ? std::nextafter(near, kInf) : near);
}

void expect_agreement(const Row& row, DType type, double y_offset_ulps) {
  const OracleRow oracle(row);
  const Oracle x = oracle.x();
  const double ulp = ulp_at(type, static_cast<double>(x));
  const std::uint32_t bits = round_to_nearest_even(type, static_cast<double>(x) + y_offset_ulps * ulp);
  const double y = decode(type, bits);
  const Oracle error = mp::abs(y - x);
  const double bound = static_cast<double>(error) * 1.25 + 0x1p-60;
  const ElementGrade grade = grade_bits(row, type, bits, bound);
  ASSERT_FALSE(grade.undecided);
  EXPECT_EQ(grade.ulp, on_grid(error / ulp));
  EXPECT_EQ(grade.signed_ulp, y < x ? -grade.ulp : grade.ulp);
  const double scale = ulp_at(type, static_cast<double>(oracle.magnitude / oracle.l));
  EXPECT_EQ(grade.scaled_ulp, on_grid(error / scale));
  EXPECT_TRUE(grade.within_bound);
  EXPECT_EQ(grade.bound_use, on_grid(error / bound));
  EXPECT_EQ(grade.steps, std::abs(ordinal(type, bits) - ordinal(type, grade.correctly_rounded)));
  // The correctly rounded number: no neighbour is closer (random rows have no ties).
  const double rounded = decode(type, grade.correctly_rounded);
  const Oracle distance = mp::abs(rounded - x);
  for (const std::uint32_t neighbour : {grade.correctly_rounded + 1, grade.correctly_rounded - 1}) {
    if (!is_finite(type, neighbour)) continue;
    EXPECT_LE(distance, mp::abs(decode(type, neighbour) - x));
  }
}

void expect_agreement_on_random_rows(std::uint64_t seed, int rounds) {
  RandomRow random(seed);
  for (int i = 0; i < rounds; ++i) {
    for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
      for (const double spread : {1.0, 30.0, 200.0}) {
        Row row = random.draw(spread, i % 2 == 0, i % 4 == 1);
        if (i % 5 == 0) row.sink = random.uniform(-3, 3);
        if (i % 3 == 0 && spread < 100) row.base = ExponentBase::natural;
        expect_agreement(row, type, i % 7 - 3.0);
      }
    }
  }
}

TEST(ExactReferenceAgreement, GradesAgreeWithAnIndependentImplementation) {
  expect_agreement_on_random_rows(2024, 40);
}

TEST(ExactReferenceAgreementNightlyTest, OnManyRows) {
  expect_agreement_on_random_rows(7, 5000);
}

TEST(ExactReferenceAgreement, LogSumAgreesWithAnIndependentImplementation) {
  RandomRow random(77);
  const auto reference = make_exact_reference();
  for (int i = 0; i < 60; ++i) {
    Row row = random.draw(i % 2 == 0 ? 2 : 100, i % 3 == 0, false);
    if (i % 4 == 0) row.sink = random.uniform(-3, 3);
    if (i % 5 == 0) row.base = ExponentBase::natural;
    const double top = *std::max_element(row.x.begin(), row.x.end());
    const Oracle ln2 = mp::log(Oracle(2));
    const Oracle offset = row.base == ExponentBase::log2 ? Oracle(top) : top / ln2;
    const Oracle lse = offset + mp::log(OracleRow(row).l) / ln2;
    const auto rounded = reference->log_sum_exp2(row.problem());
    const Oracle error = mp::abs(rounded.lse - lse);
    EXPECT_GE(Oracle(rounded.error_bound) + Oracle(0x1p-500), error);
    EXPECT_LE(Oracle(rounded.error_bound), error * (1 + 0x1p-40) + 0x1p-80);
    EXPECT_LE(error, ulp_at(DType::f32, static_cast<double>(lse)) / 2);
  }
}

}  // namespace
}  // namespace lsecheck
