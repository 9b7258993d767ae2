#include "reports/accuracy_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "reports/sample_run.h"

namespace lsecheck {
namespace {

TEST(AccuracyTableTest, LinesAddUpToTheRun) {
  const RunResults results = sample_batch(0, 200);
  const AccuracyTable table = accuracy_table(results);
  EXPECT_EQ(table.lines.size(), 4u);     // 2 variants, 2 type pairs
  EXPECT_EQ(table.regimes.size(), 20u);  // and 5 regimes
  for (const auto* lines : {&table.lines, &table.regimes}) {
    std::uint64_t cases = 0;
    std::uint64_t elements = 0;
    Maximum worst;
    for (const AccuracyLine& line : *lines) {
      cases += line.cases;
      elements += line.elements;
      worst.merge(line.metric(Metric::ulp).stats.max);
    }
    EXPECT_EQ(cases, results.totals.cases);
    EXPECT_EQ(elements, results.totals.elements);
    Maximum expected;
    for (const auto& [key, row] : results.stats) expected.merge(row.ulp.max);
    EXPECT_EQ(worst.value, expected.value);
    EXPECT_EQ(worst.token, expected.token);
  }
}

TEST(AccuracyTableTest, EveryMaximumStandsAtTheStatRowItCameFrom) {
  const RunResults results = sample_batch(0, 200);
  const AccuracyTable table = accuracy_table(results);
  for (const AccuracyLine& line : table.lines) {
    const MetricSummary& summary = line.metric(Metric::scaled_ulp);
    const StatRow& row = results.stats.at(summary.place);
    EXPECT_EQ(row.scaled_ulp.max.value, summary.stats.max.value);
    EXPECT_EQ(row.scaled_ulp.max.token, summary.stats.max.token);
    EXPECT_EQ(summary.place.variant, line.key.variant);
    EXPECT_EQ(format_place(summary), summary.place.p_class + "/" + summary.place.lse_regime);
  }
}

TEST(AccuracyTableTest, NumbersAreNotRoundedAcrossALimit) {
  EXPECT_EQ(format_value(0.123456), "0.1235");
  EXPECT_EQ(format_value(1.0), "1");
  EXPECT_EQ(format_value(0.99999), "0.99999");
  EXPECT_EQ(format_value(1.00001), "1.00001");
  EXPECT_EQ(format_value(0.500001), "0.500001");
  EXPECT_EQ(format_value(0x1.fffffffffffffp-1), "0.9999999999999999");
  EXPECT_EQ(format_value(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_percent(999'999'999, 1'000'000'000), "99.9999");
  EXPECT_EQ(format_percent(5, 5), "100.0000");
  EXPECT_EQ(format_percent(1, 3), "33.3333");
  EXPECT_EQ(format_percent(~std::uint64_t{0}, ~std::uint64_t{0}), "100.0000");
  EXPECT_EQ(format_percent(0, 0), "-");
}

TEST(AccuracyTableTest, FormatsCountsBitsAndWhatWasNotSeen) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_bits("bf16", 0x3f81), "0x3f81");
  EXPECT_EQ(format_bits("f32", 0x3f810000), "0x3f810000");
  EXPECT_EQ(format_metric(Metric::ulp, Maximum{}), "-");
  EXPECT_EQ(format_place(MetricSummary{}), "-");
  Maximum steps;
  steps.value = 123456;
  EXPECT_EQ(format_metric(Metric::steps, steps), "123456");
}

}  // namespace
}  // namespace lsecheck
