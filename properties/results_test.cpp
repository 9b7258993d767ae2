#include "properties/results.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

namespace lsecheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ErrorHistogramTest, BinsAreHalfOpenFromBelow) {
  EXPECT_EQ(ErrorHistogram::bin_of(0.0), 0);
  EXPECT_EQ(ErrorHistogram::bin_of(-0.0), 0);
  EXPECT_EQ(ErrorHistogram::bin_of(1.0), 32);
  EXPECT_EQ(ErrorHistogram::bin_of(std::nextafter(1.0, 2.0)), 33);
  EXPECT_EQ(ErrorHistogram::bin_of(0.5), 30);
  EXPECT_EQ(ErrorHistogram::bin_of(2.0), 34);
}

TEST(ErrorHistogramTest, EveryUpperEdgeIsTheLastValueOfItsBin) {
  for (int bin = 1; bin < ErrorHistogram::kBins - 1; ++bin) {
    const double edge = ErrorHistogram::upper_edge(bin);
    EXPECT_EQ(ErrorHistogram::bin_of(edge), bin);
    EXPECT_EQ(ErrorHistogram::bin_of(std::nextafter(edge, kInf)), bin + 1);
    // The exact edge squared is the power of two 2^(bin - 32): the edge is at most it, its successor above it or equal.
    const long double exact_square = std::ldexp(1.0L, bin - 32);
    EXPECT_LE(static_cast<long double>(edge) * edge, exact_square);
    const long double next = std::nextafter(edge, kInf);
    EXPECT_GT(next * next, exact_square);
  }
}

TEST(ErrorHistogramTest, EndsCollectTheRest) {
  EXPECT_EQ(ErrorHistogram::bin_of(std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_EQ(ErrorHistogram::bin_of(0x1p-40), 1);
  EXPECT_EQ(ErrorHistogram::bin_of(0x1p60), ErrorHistogram::kBins - 1);
  EXPECT_EQ(ErrorHistogram::bin_of(std::numeric_limits<double>::max()), ErrorHistogram::kBins - 1);
  EXPECT_EQ(ErrorHistogram::bin_of(kInf), ErrorHistogram::kBins - 1);
  EXPECT_EQ(ErrorHistogram::bin_of(std::numeric_limits<double>::quiet_NaN()), ErrorHistogram::kBins - 1);
  EXPECT_EQ(ErrorHistogram::upper_edge(0), 0.0);
  EXPECT_EQ(ErrorHistogram::upper_edge(ErrorHistogram::kBins - 1), kInf);
}

TEST(HuntStatTest, MergesInAnyOrder) {
  const HuntStat rows[] = {{4096, 0.5, "b"}, {4096, 0.5, "a"}, {0, kInf, ""}, {4096, -1, ""}};
  for (const HuntStat& one : rows) {
    for (const HuntStat& other : rows) {
      HuntStat there = one;
      there.merge(other);
      HuntStat back = other;
      back.merge(one);
      EXPECT_EQ(there.bound_use, std::max(one.bound_use, other.bound_use));
      EXPECT_EQ(there.bound_use, back.bound_use);
      EXPECT_EQ(there.worst, back.worst);
      EXPECT_EQ(there.evaluations, one.evaluations + other.evaluations);
    }
  }
}

Maximum seen(double value, std::uint64_t case_index) {
  Maximum maximum;
  maximum.value = value;
  maximum.case_index = case_index;
  maximum.token = "token" + std::to_string(case_index);
  return maximum;
}

TEST(MaximumTest, KeepsTheLargerValueAndOnTiesTheSmallerCaseIndex) {
  Maximum maximum;
  maximum.merge(seen(0.5, 9));
  EXPECT_EQ(maximum.case_index, 9u);
  maximum.merge(seen(0.5, 11));
  EXPECT_EQ(maximum.case_index, 9u);
  maximum.merge(seen(0.5, 3));
  EXPECT_EQ(maximum.case_index, 3u);
  EXPECT_EQ(maximum.token, "token3");
  maximum.merge(seen(0.75, 20));
  EXPECT_EQ(maximum.case_index, 20u);
  EXPECT_EQ(maximum.value, 0.75);
  maximum.merge(Maximum{});
  EXPECT_EQ(maximum.case_index, 20u);
}

TEST(MaximumTest, ZeroIsSeenAndBeatsNothing) {
  Maximum maximum;
  maximum.merge(seen(0, 5));
  EXPECT_EQ(maximum.value, 0.0);
  EXPECT_EQ(maximum.case_index, 5u);
}

TEST(MaximumTest, NotANumberCountsAsAnInfiniteError) {
  Maximum maximum = seen(100, 1);
  maximum.merge(seen(std::numeric_limits<double>::quiet_NaN(), 2));
  EXPECT_EQ(maximum.value, kInf);
  EXPECT_EQ(maximum.case_index, 2u);
  maximum.merge(seen(kInf, 1));
  EXPECT_EQ(maximum.case_index, 1u);

  Maximum first = seen(std::numeric_limits<double>::quiet_NaN(), 7);
  first.merge(seen(3, 1));
  EXPECT_EQ(first.value, kInf);
  EXPECT_EQ(first.case_index, 7u);
}

TEST(MaximumTest, ElementsOfOneCaseAreOrderedByPlace) {
  Maximum early = seen(1, 4);
  early.row_head = 1;
  early.depth_index = 7;
  Maximum late = seen(1, 4);
  late.row_head = 1;
  late.depth_index = 8;
  Maximum forward = early;
  forward.merge(late);
  Maximum backward = late;
  backward.merge(early);
  EXPECT_EQ(forward.depth_index, 7u);
  EXPECT_EQ(backward.depth_index, 7u);
}

auto fields(const Maximum& m) {
  return std::tie(m.value, m.case_index, m.token, m.row_head, m.depth_index, m.got_bits, m.correctly_rounded_bits);
}

bool same(const MetricStats& a, const MetricStats& b) {
  return a.histogram.count == b.histogram.count && fields(a.max) == fields(b.max);
}

bool same(const StatRow& a, const StatRow& b) {
  return std::tie(a.cases, a.row_heads, a.elements, a.correctly_rounded, a.digest) ==
             std::tie(b.cases, b.row_heads, b.elements, b.correctly_rounded, b.digest) &&
         same(a.ulp, b.ulp) && same(a.scaled_ulp, b.scaled_ulp) && same(a.steps, b.steps) &&
         same(a.bound_use, b.bound_use);
}

bool same(const LawRow& a, const LawRow& b) {
  return std::tie(a.checked, a.not_applicable, a.failed) == std::tie(b.checked, b.not_applicable, b.failed);
}

template <typename Key, typename Row>
bool same(const std::map<Key, Row>& a, const std::map<Key, Row>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
}

bool same(const RunResults& a, const RunResults& b) {
  return std::tie(a.totals.cases, a.totals.row_heads, a.totals.elements, a.totals.failures) ==
             std::tie(b.totals.cases, b.totals.row_heads, b.totals.elements, b.totals.failures) &&
         same(a.stats, b.stats) && same(a.laws, b.laws) && a.coverage == b.coverage && a.failures == b.failures;
}

// What one case adds; few distinct values, so that ties happen all the time.
RunResults one_case(std::mt19937_64& random, std::uint64_t case_index) {
  const auto draw = [&](std::uint64_t bound) { return random() % bound; };
  RunResults results;
  results.totals = {1, draw(4), draw(100), 0};
  StatKey key;
  key.kernel = draw(2) == 0 ? "fa4_splitk_combine" : "mla_combine";
  key.p_class = draw(2) == 0 ? "1" : "2-16";
  StatRow& row = results.stats[key];
  row.cases = 1;
  row.row_heads = results.totals.row_heads;
  row.elements = results.totals.elements;
  row.digest = random();
  for (MetricStats* metric : {&row.ulp, &row.scaled_ulp, &row.steps, &row.bound_use}) {
    const double value = static_cast<double>(draw(4)) / 2;
    metric->histogram.add(value);
    metric->max = seen(draw(8) == 0 ? kInf : value, case_index);
    metric->max.depth_index = static_cast<std::uint32_t>(draw(3));
  }
  results.laws[{key.kernel, draw(2) == 0 ? "accuracy" : "convexity"}] = {draw(5), draw(3), draw(2)};
  results.coverage[draw(2) == 0 ? "lse:narrow" : "lse:ties"] = 1;
  if (draw(3) == 0) {
    Failure failure;
    failure.case_index = case_index;
    failure.kernel = key.kernel;
    failure.law = draw(2) == 0 ? "accuracy" : "convexity";
    results.failures = {failure};
    results.totals.failures = 1;
  }
  return results;
}

TEST(RunResultsTest, MergeIsAssociativeAndCommutativeWithTheEmptyResultNeutral) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const RunResults a = one_case(random, i);
    const RunResults b = one_case(random, i + random() % 2);
    const RunResults c = one_case(random, i + random() % 3);
    RunResults left = a;
    left.merge(b);
    RunResults ba = b;
    ba.merge(a);
    ASSERT_TRUE(same(left, ba));
    left.merge(c);
    RunResults bc = b;
    bc.merge(c);
    RunResults right = a;
    right.merge(bc);
    ASSERT_TRUE(same(left, right));
    RunResults empty;
    empty.merge(left);
    ASSERT_TRUE(same(empty, left));
    left.merge(RunResults{});
    ASSERT_TRUE(same(empty, left));
  }
}

TEST(RunResultsTest, TotalsDoNotDependOnBatchSizeOrOrder) {
  std::mt19937_64 random(2);
  std::vector<RunResults> cases;
  for (std::uint64_t i = 0; i < 200; ++i) cases.push_back(one_case(random, i));
  RunResults whole;
  for (const RunResults& one : cases) whole.merge(one);
  for (const std::size_t batch_size : {1u, 7u, 64u, 200u}) {
    RunResults total;
    for (std::size_t begin = 0; begin < cases.size(); begin += batch_size) {
      RunResults batch;
      for (std::size_t i = begin; i < std::min(begin + batch_size, cases.size()); ++i) batch.merge(cases[i]);
      total.merge(batch);
    }
    EXPECT_TRUE(same(total, whole)) << "batch size " << batch_size;
  }
  RunResults backwards;
  for (auto one = cases.rbegin(); one != cases.rend(); ++one) backwards.merge(*one);
  EXPECT_TRUE(same(backwards, whole));
}

TEST(RunResultsTest, FailuresAreOrderedByCaseIndexThenLaw) {
  const auto failure = [](std::uint64_t index, const char* law) {
    Failure f;
    f.case_index = index;
    f.law = law;
    return f;
  };
  RunResults results;
  results.failures = {failure(9, "accuracy")};
  RunResults batch;
  batch.failures = {failure(10, "a"), failure(2, "b"), failure(2, "a")};
  results.merge(batch);
  ASSERT_EQ(results.failures.size(), 4u);
  EXPECT_EQ(results.failures[0].law, "a");
  EXPECT_EQ(results.failures[1].law, "b");
  EXPECT_EQ(results.failures[2].case_index, 9u);
  EXPECT_EQ(results.failures[3].case_index, 10u);
}

TEST(StatRowTest, DigestIsASumModulo2To64) {
  StatRow row;
  row.digest = ~std::uint64_t{0};
  StatRow other;
  other.digest = 3;
  row.merge(other);
  EXPECT_EQ(row.digest, 2u);
}

}  // namespace
}  // namespace lsecheck
