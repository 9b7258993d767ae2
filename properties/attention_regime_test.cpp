#include "properties/case_expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/expanded_rows.h"

namespace lsecheck {
namespace {

using namespace expanded;

CaseSpec attention_spec() {
  CaseSpec spec = base_spec();
  spec.rows = 7;
  spec.lse = LseRegime::attention;
  spec.values = ValueRegime::attention;
  spec.partial = spec.out = DType::f32;
  return spec;
}

TEST(AttentionRegime, EitherAxisMeansBoth) {
  CaseSpec lse_only = attention_spec(), values_only = attention_spec();
  lse_only.values = ValueRegime::normal;
  values_only.lse = LseRegime::narrow;
  const CaseTensors both = expand(attention_spec());
  EXPECT_EQ(expand(lse_only).o_partial, both.o_partial);
  EXPECT_EQ(expand(values_only).o_partial, both.o_partial);
  EXPECT_TRUE(same_bits(expand(values_only).lse_partial, both.lse_partial));
}

TEST(AttentionRegime, FrontLoadedWindowsLeaveTrailingPartitionsEmptyAndRowsDiffer) {
  CaseSpec spec = attention_spec();
  spec.empties = EmptyPattern::trailing;
  const CaseTensors tensors = expand(spec);
  std::set<std::size_t> counts;
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    const std::vector<float> lse = row_lse(tensors, rh);
    const std::size_t count = count_empty(lse);
    EXPECT_GE(count, 1u);
    EXPECT_LT(count, spec.num_partitions);
    EXPECT_TRUE(std::all_of(lse.end() - static_cast<std::ptrdiff_t>(count), lse.end(), empty));
    counts.insert(count);
  }
  EXPECT_GT(counts.size(), 1u);
}

TEST(AttentionRegime, EveryPatternIsHonoured) {
  CaseSpec spec = attention_spec();
  const auto counts = [&](EmptyPattern pattern) {
    spec.empties = pattern;
    const CaseTensors tensors = expand(spec);
    std::set<std::size_t> result;
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) result.insert(count_empty(row_lse(tensors, rh)));
    return result;
  };
  EXPECT_EQ(counts(EmptyPattern::none), std::set<std::size_t>{0});
  EXPECT_EQ(counts(EmptyPattern::all), std::set<std::size_t>{37});
  EXPECT_EQ(counts(EmptyPattern::one_left), std::set<std::size_t>{36});
  spec.num_partitions = 1;
  EXPECT_EQ(counts(EmptyPattern::trailing), std::set<std::size_t>{0});
}

struct MergedRow {
  double lse = 0;
  std::vector<double> out;
};

MergedRow merge_row(const CaseTensors& tensors, std::size_t rh) {
  const std::vector<float> lse = row_lse(tensors, rh);
  const auto top = static_cast<double>(largest(lse));
  MergedRow merged{0, std::vector<double>(tensors.spec.ov_depth, 0)};
  double total = 0;
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    if (empty(lse[p])) continue;
    const double weight = std::exp2(static_cast<double>(lse[p]) - top);
    total += weight;
    const std::vector<double> values = row_values(tensors, rh, p);
    for (std::size_t d = 0; d < values.size(); ++d) merged.out[d] += weight * values[d];
  }
  for (double& x : merged.out) x /= total;
  merged.lse = std::log2(total) + top;
  return merged;
}

// The split must not change the attention: with one tile each in 6 of 12 partitions, or 6 tiles front-loaded over 5.
// Both draw their number of tiles from the same uniform u: 1 + floor(11 u) is 6 only for u in [5/11, 6/11), where 5 +
// floor(3 u) is 6 too.
TEST(AttentionRegime, AnotherSplitOfTheSameKeysMergesToTheSameRow) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CaseSpec fine = attention_spec(), coarse = attention_spec();
    fine.seed = coarse.seed = seed;
    fine.num_partitions = 12;
    fine.empties = EmptyPattern::trailing;
    coarse.num_partitions = 5;
    const CaseTensors fine_tensors = expand(fine), coarse_tensors = expand(coarse);
    for (std::size_t rh = 0; rh < fine.rows_heads(); ++rh) {
      const std::vector<float> lse = row_lse(fine_tensors, rh);
      // A row that is masked everywhere weighs partitions, not keys, when its sentinel absorbs the log2 of the count.
      if (count_empty(lse) != 6 || largest(lse) < -9000) continue;
      ++compared;
      const MergedRow a = merge_row(fine_tensors, rh), b = merge_row(coarse_tensors, rh);
      // abs(lse) < 2^11, so its rounding moves a weight by less than 2^-14 relative, on either side, for values
      // below 4.9.
      EXPECT_NEAR(a.lse, b.lse, 0x1p-12);
      for (std::size_t d = 0; d < a.out.size(); ++d) EXPECT_NEAR(a.out[d], b.out[d], 4 * 4.9 * 0x1p-14);
    }
  }
  EXPECT_GT(compared, 50u);
}

TEST(AttentionRegime, MasksGiveFiniteSentinels) {
  CaseSpec spec = attention_spec();
  EXPECT_TRUE(reached(spec, [](const auto& lse) {
    return std::any_of(lse.begin(), lse.end(), [](float x) { return x < -9000 && x > -10001; });
  }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) {
    return std::any_of(lse.begin(), lse.end(), [](float x) { return x == -0x1p100F; });
  }));
}

}  // namespace
}  // namespace lsecheck
