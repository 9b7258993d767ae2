#include "properties/case_expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/expanded_rows.h"

namespace lsecheck {
namespace {

using namespace expanded;

TEST(LseRegimes, Spreads) {
  CaseSpec spec = base_spec();
  const auto every_row = [&](auto check) {
    for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
      const CaseTensors tensors = expand(spec);
      for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) check(row_lse(tensors, rh));
    }
  };
  spec.lse = LseRegime::narrow;
  every_row([](const auto& lse) {
    EXPECT_LE(spread(lse), 4.0F);
    EXPECT_LE(std::fabs(largest(lse)), 10.0F);
  });
  spec.lse = LseRegime::dominant;
  every_row([](auto lse) {
    std::sort(lse.begin(), lse.end());
    EXPECT_GE(lse.back(), lse.front() + 4.0F);
  });
  spec.lse = LseRegime::large_magnitude;
  every_row([](const auto& lse) {
    EXPECT_GE(std::fabs(largest(lse)), 47.0F);
    EXPECT_LE(spread(lse), std::max(5.0F, 0x1p-20F * std::fabs(largest(lse))));
  });
  spec.lse = LseRegime::flushed_weights;
  every_row([](const auto& lse) {
    for (const float x : lse) EXPECT_TRUE(largest(lse) - x <= 6 || largest(lse) - x >= 115);
  });
}

TEST(LseRegimes, ExtremeSpreadReachesAllWeights) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::extreme_spread;
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return spread(lse) > 60 && spread(lse) < 100; }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return spread(lse) > 300 && spread(lse) < 700; }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return spread(lse) == kInfinity; }));  // overflows f32
  EXPECT_TRUE(reached(spec, [](const auto& lse) {
    return std::any_of(lse.begin(), lse.end(), [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
  }));
}

TEST(LseRegimes, LargeMagnitudeReachesBothSignsAndAbsorption) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::large_magnitude;
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return largest(lse) < -0x1p24F; }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return largest(lse) > 0x1p24F; }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return largest(lse) > 50 && largest(lse) < 200; }));
}

TEST(LseRegimes, MaskedSentinelsComeInWholeRowsAndMixed) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::masked_sentinel;
  const auto count_below = [](const std::vector<float>& lse, float limit) {
    return std::count_if(lse.begin(), lse.end(), [&](float x) { return x < limit; });
  };
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count_below(lse, -0x1p99F) == 37; }));
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count_below(lse, -9000) == 37 && lse[0] > -11000; }));
  EXPECT_TRUE(reached(spec, [&](const auto& lse) {
    const auto n = count_below(lse, -9000);
    return n > 0 && n < 37;
  }));
  // Absorbed: every partition of a -2^100 row has exactly the sentinel.
  EXPECT_TRUE(reached(spec, [](const auto& lse) {
    return std::all_of(lse.begin(), lse.end(), [](float x) { return x == -0x1p100F; });
  }));
}

TEST(LseRegimes, TiesAreExactAndHoldBothZeros) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::ties;
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return spread(lse) == 0; }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) {
    return spread(lse) == 0 && std::any_of(lse.begin(), lse.end(), [](float x) { return std::signbit(x); }) &&
           std::any_of(lse.begin(), lse.end(), [](float x) { return !std::signbit(x); });
  }));
  for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
    const CaseTensors tensors = expand(spec);
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      const std::vector<float> lse = row_lse(tensors, rh);
      for (const float x : lse) EXPECT_EQ(x - lse[0], std::floor(x - lse[0]));
    }
  }
}

TEST(LseRegimes, FlushedWeightsStandOnTheFlushLimit) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::flushed_weights;
  for (const float gap : {125.0F, 126.0F, 127.0F, 149.0F, 150.0F}) {
    EXPECT_TRUE(reached(spec, [&](const auto& lse) {
      return std::any_of(lse.begin(), lse.end(), [&](float x) { return largest(lse) - x == gap; });
    })) << gap;
  }
}

TEST(LseRegimes, PolicyReachesEveryMix) {
  CaseSpec spec = base_spec();
  spec.lse = LseRegime::policy;
  const auto count = [](const std::vector<float>& lse, auto is) {
    return static_cast<std::size_t>(std::count_if(lse.begin(), lse.end(), is));
  };
  const auto nan = [](float x) { return std::isnan(x); };
  const auto plus_inf = [](float x) { return x == kInfinity; };
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count(lse, nan) == 1 && count_empty(lse) == 0; }));
  for (const std::size_t slot : {0u, 31u, 32u, 33u, 36u}) {
    EXPECT_TRUE(reached(spec, [&](const auto& lse) { return nan(lse[slot]) && count_empty(lse) == 36; })) << slot;
  }
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count(lse, plus_inf) == 1 && count(lse, nan) == 0; }));
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count(lse, plus_inf) == 1 && count_empty(lse) == 36; }));
  EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count(lse, nan) == 37; }));
  EXPECT_TRUE(reached(
      spec, [&](const auto& lse) { return count(lse, nan) > 0 && count(lse, plus_inf) > 0 && count_empty(lse) > 0; }));
}

}  // namespace
}  // namespace lsecheck
