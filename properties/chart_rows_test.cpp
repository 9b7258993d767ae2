#include <gtest/gtest.h>

#include "properties/case_draw.h"
#include "properties/chart_bins.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

// The charts are another sorting of the graded elements: their maxima are those of the accuracy table.
TEST(ChartRowsTest, HoldTheMaximaOfTheAccuracyTable) {
  const auto laws = matching_laws("accuracy");
  const std::unique_ptr<Reference> reference = make_certified_reference();
  double largest = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const CaseSpec spec = draw_spec(7, i, {});
    const RunResults results = evaluate_case(spec, i, laws, *reference);
    if (results.stats.empty()) continue;
    const StatRow& row = results.stats.begin()->second;
    Maximum maximum;
    std::uint64_t row_heads = 0;
    for (const auto& [key, cell] : results.charts) {
      EXPECT_LT(key.y, static_cast<std::uint32_t>(kMagnitudeBins));
      if (key.chart != "spread") continue;
      maximum.merge(cell.scaled_ulp);
      row_heads += cell.row_heads;
    }
    EXPECT_LE(row_heads, row.row_heads);
    EXPECT_EQ(maximum.value, row.elements == 0 ? -1 : row.scaled_ulp.max.value) << i;
    EXPECT_EQ(maximum.token, row.elements == 0 ? "" : row.scaled_ulp.max.token);
    largest = std::max(largest, maximum.value);
  }
  EXPECT_GT(largest, 0.25);
}

TEST(ChartRowsTest, TheMagnitudeChartHoldsOrdinaryRowsAlone) {
  const auto laws = matching_laws("accuracy");
  const std::unique_ptr<Reference> reference = make_certified_reference();
  int held = 0;
  int left_out = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const CaseSpec spec = draw_spec(7, i, {});
    std::uint64_t narrow = 0;  // spread bin 10 ends at 64, bin 11 at 128: 100 lies between them
    std::uint64_t unsure = 0;
    std::uint64_t drawn = 0;
    for (const auto& [key, cell] : evaluate_case(spec, i, laws, *reference).charts) {
      if (key.chart == "magnitude") drawn += cell.row_heads;
      if (key.chart == "spread" && key.y <= 11) (key.y == 11 ? unsure : narrow) += cell.row_heads;
    }
    EXPECT_LE(drawn, narrow + unsure) << i;
    if (spec.values == ValueRegime::huge || spec.values == ValueRegime::subnormal) {
      EXPECT_EQ(drawn, 0u) << i;
      ++left_out;
    } else if (spec.mass == MassRegime::unit) {
      EXPECT_GE(drawn, narrow) << i;
      held += drawn > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(held, 0);
  EXPECT_GT(left_out, 0);
}

// Inside the bound, no error is larger than the largest bound of its cell.
TEST(ChartRowsTest, TheBoundCoversTheErrors) {
  const auto laws = matching_laws("accuracy");
  const std::unique_ptr<Reference> reference = make_certified_reference();
  for (std::uint64_t i = 0; i < 60; ++i) {
    for (const auto& [key, cell] : evaluate_case(draw_spec(7, i, {}), i, laws, *reference).charts) {
      EXPECT_GE(cell.largest_bound, cell.scaled_ulp.value) << i;
    }
  }
}

}  // namespace
}  // namespace lsecheck
