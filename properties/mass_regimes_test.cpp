#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/case_kernel.h"
#include "properties/case_rows.h"
#include "properties/expanded_rows.h"
#include "properties/tensor_edits.h"

namespace lsecheck {
namespace {

using namespace expanded;

CaseSpec mha_spec() {
  CaseSpec spec;
  spec.kernel = KernelId::mha_splitk_reduce;
  spec.num_partitions = 17;
  spec.rows = 6;
  spec.heads = 3;
  spec.ov_depth = 32;
  spec.seed = 20;
  return spec;
}

// Every mass of 20 seeds.
std::vector<float> masses_of(MassRegime regime) {
  CaseSpec spec = mha_spec();
  spec.mass = regime;
  std::vector<float> all;
  for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
    const std::vector<float> mass = expand(spec).mass_partial;
    EXPECT_EQ(mass.size(), 17u * 18u);
    all.insert(all.end(), mass.begin(), mass.end());
  }
  return all;
}

float least(const std::vector<float>& values) {
  return *std::min_element(values.begin(), values.end());
}

TEST(MassRegimes, KeepToTheirRangesAndFillThem) {
  for (const float mass : masses_of(MassRegime::unit)) ASSERT_EQ(mass, 1.0F);
  const auto near_one = masses_of(MassRegime::near_one);
  EXPECT_GE(least(near_one), 1.0F);
  EXPECT_LE(largest(near_one), 3.0F);
  EXPECT_LT(least(near_one), 1.01F);
  EXPECT_GT(largest(near_one), 2.9F);
  const auto counts = masses_of(MassRegime::counts);
  for (const float mass : counts) ASSERT_EQ(mass, std::trunc(mass));
  EXPECT_GE(least(counts), 1.0F);
  EXPECT_LE(largest(counts), 0x1p20F);
  EXPECT_GT(largest(counts), 0x1p19F);
  const auto spread = masses_of(MassRegime::spread);
  EXPECT_GE(least(spread), 0x1p-20F);
  EXPECT_LT(largest(spread), 0x1p20F);
  EXPECT_LT(least(spread), 0x1p-18F);
  EXPECT_GT(largest(spread), 0x1p18F);
  const auto tiny = masses_of(MassRegime::tiny);
  EXPECT_GT(least(tiny), 0.0F);
  EXPECT_LT(largest(tiny), 0x1p-124F);
  EXPECT_LT(least(tiny), 0x1p-128F);
  EXPECT_GT(largest(tiny), 0x1p-126F);
}

TEST(MassRegimes, AMassOfZeroMarksTheEmptyPartitionsOverFiniteAndEmptyMaximaAlike) {
  CaseSpec spec = mha_spec();
  spec.mass = MassRegime::counts;
  const CaseTensors full = expand(spec);
  spec.empties = EmptyPattern::random;
  const CaseTensors tensors = expand(spec);
  int stale = 0, gone = 0;
  for (std::size_t pair = 0; pair < tensors.mass_partial.size(); ++pair) {
    EXPECT_EQ(is_empty(tensors, pair), tensors.mass_partial[pair] == 0);
    if (!is_empty(tensors, pair)) {
      EXPECT_EQ(tensors.mass_partial[pair], full.mass_partial[pair]);
      continue;
    }
    stale += tensors.lse_partial[pair] == full.lse_partial[pair];
    gone += tensors.lse_partial[pair] == -kInfinity;
  }
  EXPECT_GT(stale, 20);
  EXPECT_GT(gone, 20);
}

TEST(MassRegimes, OnlyPolicyHoldsNanMasses) {
  CaseSpec spec = mha_spec();
  bool planted = false;
  for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
    spec.lse = LseRegime::narrow;
    for (const float mass : expand(spec).mass_partial) ASSERT_TRUE(std::isfinite(mass));
    spec.lse = LseRegime::policy;
    for (const float mass : expand(spec).mass_partial) planted = planted || std::isnan(mass);
  }
  EXPECT_TRUE(planted);
}

TEST(MassRegimes, AttentionHasTheMassOfItsKeys) {
  CaseSpec spec = mha_spec();
  spec.lse = LseRegime::attention;
  spec.values = ValueRegime::attention;
  spec.empties = EmptyPattern::trailing;
  const CaseTensors tensors = expand(spec);
  for (std::size_t pair = 0; pair < tensors.mass_partial.size(); ++pair) {
    if (tensors.mass_partial[pair] == 0) continue;
    EXPECT_GE(tensors.mass_partial[pair], 1.0F) << "the maximum's own key counts 1";
    EXPECT_LE(tensors.mass_partial[pair], 8.0F);
  }
  EXPECT_GT(std::count(tensors.mass_partial.begin(), tensors.mass_partial.end(), 0.0F), 0);
}

TEST(ExponentForms, NaturalOnesAreTheLog2OnesTimesLn2) {
  CaseSpec spec = mha_spec();
  const CaseTensors log2 = expand(spec);
  spec.exponent = ExponentForm::natural;
  const CaseTensors natural = expand(spec);
  for (std::size_t i = 0; i < log2.lse_partial.size(); ++i) {
    ASSERT_EQ(natural.lse_partial[i], log2.lse_partial[i] * 0x1.62e43p-1F);
  }
  EXPECT_EQ(natural.o_partial, log2.o_partial);
  EXPECT_EQ(natural.exponent_scale, 1.0F);
}

TEST(ExponentForms, ScaledOnesAreDividedByTheScaleAndStayFinite) {
  CaseSpec spec = mha_spec();
  spec.exponent = ExponentForm::scaled;
  EXPECT_EQ(in_exponent_form(spec, 0.25F, 3.0F), 12.0F);
  EXPECT_EQ(in_exponent_form(spec, 0.25F, 3e38F), std::numeric_limits<float>::max());
  EXPECT_EQ(in_exponent_form(spec, 0.25F, -3e38F), std::numeric_limits<float>::lowest());
  EXPECT_EQ(in_exponent_form(spec, 0.25F, -kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(in_exponent_form(spec, 0.25F, NAN)));
}

TEST(ExponentForms, ScalesAreOneProductionsOrAnyNormal) {
  CaseSpec spec = mha_spec();
  spec.ov_depth = 64;
  int one = 0, production = 0, other = 0;
  for (spec.seed = 0; spec.seed < 100; ++spec.seed) {
    const float scale = draw_exponent_scale(spec);
    EXPECT_TRUE(std::isnormal(scale) && scale > 0);
    one += scale == 1;
    production += scale == 0x1.715476p+0F / 8;
    other += scale != 1 && scale != 0x1.715476p+0F / 8;
  }
  EXPECT_GT(one, 10);
  EXPECT_GT(production, 30);
  EXPECT_GT(other, 10);
}

TEST(TensorEdits, MassesMoveWithTheirPartitionsAndRows) {
  CaseSpec spec = mha_spec();
  spec.mass = MassRegime::spread;
  const CaseTensors tensors = expand(spec);
  const std::vector<std::int64_t> partitions{4, kNoSource, 2};
  const CaseTensors fewer = remap_partitions(tensors, partitions);
  EXPECT_EQ(fewer.mass_partial[fewer.lse_index(0, 5)], tensors.mass_partial[tensors.lse_index(4, 5)]);
  EXPECT_TRUE(is_empty(fewer, fewer.lse_index(1, 5)));
  EXPECT_EQ(fewer.mass_partial[fewer.lse_index(2, 5)], tensors.mass_partial[tensors.lse_index(2, 5)]);
  const std::vector<std::int64_t> rows{kNoSource, 7};
  const CaseTensors moved = remap_rows(tensors, rows);
  EXPECT_TRUE(std::isnan(moved.mass_partial[moved.lse_index(3, 0)]));
  EXPECT_EQ(moved.mass_partial[moved.lse_index(3, 1)], tensors.mass_partial[tensors.lse_index(3, 7)]);
}

}  // namespace
}  // namespace lsecheck
