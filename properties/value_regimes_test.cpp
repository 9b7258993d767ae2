#include "properties/case_expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/case_limits.h"
#include "properties/expanded_rows.h"

namespace lsecheck {
namespace {

using namespace expanded;

CaseSpec value_spec(ValueRegime values, TypePair types) {
  CaseSpec spec = base_spec();
  spec.num_partitions = 9;
  spec.values = values;
  spec.out = types.out;
  spec.partial = types.partial;
  return spec;
}

TEST(ValueRegimes, ConstantIsTheSameInEveryPartitionAndReachesExactMidpoints) {
  for (const TypePair& types : kTypePairs) {
    const CaseSpec spec = value_spec(ValueRegime::constant, types);
    const CaseTensors tensors = expand(spec);
    std::size_t midpoint_rows = 0;
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      const std::vector<double> first = row_values(tensors, rh, 0);
      for (std::size_t p = 1; p < spec.num_partitions; ++p) EXPECT_EQ(row_values(tensors, rh, p), first);
      midpoint_rows += std::all_of(first.begin(), first.end(),
                                   [&](double x) {
                                     const double rounded = decode(spec.out, round_to_nearest_even(spec.out, x));
                                     return std::fabs(rounded - x) * 2 == ulp_at(spec.out, x);
                                   })
                           ? 1u
                           : 0u;
    }
    const bool narrowing = types.partial == DType::f32 && types.out != DType::f32;
    EXPECT_EQ(midpoint_rows > 0, narrowing);
    EXPECT_LT(midpoint_rows, spec.rows_heads());
  }
}

TEST(ValueRegimes, OneHotShowsEveryPartition) {
  const CaseSpec spec = value_spec(ValueRegime::one_hot, kTypePairs[0]);
  const CaseTensors tensors = expand(spec);
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    std::vector<std::size_t> hot(spec.ov_depth, 0);
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      const std::vector<double> values = row_values(tensors, rh, p);
      EXPECT_GT(std::count_if(values.begin(), values.end(), [](double x) { return x != 0; }), 0);
      for (std::size_t d = 0; d < values.size(); ++d) hot[d] += values[d] != 0 ? 1u : 0u;
    }
    for (const std::size_t count : hot) EXPECT_EQ(count, 1u);
  }
}

TEST(ValueRegimes, CancellingSumsAreFarBelowTheirTerms) {
  for (const TypePair& types : kTypePairs) {
    CaseSpec spec = value_spec(ValueRegime::cancelling, types);
    spec.lse = LseRegime::dominant;
    spec.empties = EmptyPattern::random;
    const CaseTensors tensors = expand(spec);
    std::size_t strongly = 0, elements = 0;
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      const std::vector<float> lse = row_lse(tensors, rh);
      std::vector<double> sum(spec.ov_depth, 0), magnitude(spec.ov_depth, 0);
      for (std::size_t p = 0; p < spec.num_partitions; ++p) {
        if (empty(lse[p])) continue;
        const double weight = std::exp2(static_cast<double>(lse[p]) - static_cast<double>(largest(lse)));
        const std::vector<double> values = row_values(tensors, rh, p);
        for (std::size_t d = 0; d < values.size(); ++d) {
          sum[d] += weight * values[d];
          magnitude[d] += weight * std::fabs(values[d]);
        }
      }
      for (std::size_t d = 0; d < sum.size(); ++d) {
        ++elements;
        strongly += std::fabs(sum[d]) < magnitude[d] / 200 ? 1u : 0u;
      }
    }
    EXPECT_GT(strongly, elements / 4);
  }
}

TEST(ValueRegimes, HugeReachesTheEndOfTheRangeAndPastTheOutputs) {
  for (const TypePair& types : kTypePairs) {
    const CaseSpec spec = value_spec(ValueRegime::huge, types);
    const CaseTensors tensors = expand(spec);
    bool at_end = false, past_output = false;
    for (const std::uint32_t bits : tensors.o_partial) {
      const double x = std::fabs(decode(spec.partial, bits));
      at_end = at_end || x == max_finite(spec.partial);
      past_output = past_output || x >= overflow_threshold(spec.out);
    }
    EXPECT_TRUE(at_end);
    EXPECT_EQ(past_output, max_finite(types.partial) >= overflow_threshold(types.out));
  }
}

TEST(ValueRegimes, SubnormalsOfBothTypes) {
  for (const TypePair& types : kTypePairs) {
    const CaseSpec spec = value_spec(ValueRegime::subnormal, types);
    const CaseTensors tensors = expand(spec);
    bool least_of_partial = false, subnormal_of_output = false;
    for (const std::uint32_t bits : tensors.o_partial) {
      const double x = std::fabs(decode(spec.partial, bits));
      least_of_partial = least_of_partial || x == smallest_subnormal(spec.partial);
      const double first_normal = std::ldexp(1.0, format_of(spec.out).min_exponent);
      subnormal_of_output = subnormal_of_output || (x > first_normal / 8 && x < first_normal);
      EXPECT_LE(x, 2 * std::ldexp(1.0, -14));
    }
    EXPECT_TRUE(least_of_partial);
    EXPECT_TRUE(subnormal_of_output);
  }
}

TEST(ValueRegimes, NonfiniteLiesUnderUnderflowingAndCountingWeights) {
  CaseSpec spec = value_spec(ValueRegime::nonfinite, kTypePairs[0]);
  spec.lse = LseRegime::flushed_weights;
  bool hidden = false, counting = false;
  const CaseTensors tensors = expand(spec);
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    const std::vector<float> lse = row_lse(tensors, rh);
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      const std::vector<double> values = row_values(tensors, rh, p);
      const bool bad = std::any_of(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
      hidden = hidden || (bad && largest(lse) - lse[p] > 130);
      counting = counting || (bad && largest(lse) - lse[p] < 100);
    }
  }
  EXPECT_TRUE(hidden);
  EXPECT_TRUE(counting);
}

}  // namespace
}  // namespace lsecheck
