#include "properties/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_limits.h"
#include "properties/law_tools.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kUlp = 1 << 20;

TEST(Distribution, TextReadsBackToTheSameRows) {
  const DistributionRows rows{{{"mha_splitk_reduce", "f32", "narrow"}, {100, 32, -5, 17, 1600}},
                              {{"mla_combine", "bf16", "ties"}, {7, 512, 0, -1, 3584}}};
  EXPECT_EQ(parse_distribution(distribution_text(rows)), rows);
  EXPECT_THROW(parse_distribution("a b c 1 2 3 4\n"), std::invalid_argument);
  EXPECT_THROW(parse_distribution("a b c 0 2 3 4 5\n"), std::invalid_argument);
}

TEST(Distribution, EverySampleCanRunAndIsOnRecord) {
  for (const KernelId kernel : kernels_matching("*")) {
    for (const SampleUse use : {SampleUse::run, SampleUse::record}) {
      for (const CaseSpec& sample : distribution_samples(kernel, 1, use)) {
        EXPECT_EQ(spec_error(sample), std::nullopt);
        EXPECT_TRUE(recorded_distribution().contains(distribution_key(sample)));
      }
    }
  }
  EXPECT_GE(recorded_distribution().size(), 8U * 7U);
}

TEST(Distribution, SamplesOfTwoSeedsAndTheRecordDiffer) {
  const auto seed_of = [](std::uint64_t seed, SampleUse use) {
    return distribution_samples(KernelId::mha_splitk_reduce, seed, use).front().seed;
  };
  EXPECT_NE(seed_of(1, SampleUse::run), seed_of(2, SampleUse::run));
  EXPECT_NE(seed_of(1, SampleUse::run), seed_of(1, SampleUse::record));
}

// n = N = 1024: means of errors may be 2 sqrt(22 / 2 * 2 / 1024) = 0.2932 apart, shares half that.
TEST(Distribution, ThresholdsAreThoseOfTheDerivation) {
  const auto row = [](double upward, double outward, double correct) {
    const double elements = 1024.0 * 32;
    return DistributionRow{1024, 32, static_cast<std::int64_t>(upward * elements * kUlp),
                           static_cast<std::int64_t>(outward * elements * kUlp),
                           static_cast<std::uint64_t>(correct * elements)};
  };
  const DistributionRow recorded = row(0, 0, 0.5);
  EXPECT_EQ(distribution_shift(recorded, recorded), std::nullopt);
  EXPECT_EQ(distribution_shift(recorded, row(0.29, -0.29, 0.64)), std::nullopt);
  EXPECT_THAT(distribution_shift(recorded, row(0.3, 0, 0.5)).value_or(""), HasSubstr("0.3000 ulp upward"));
  EXPECT_THAT(distribution_shift(recorded, row(0, -0.3, 0.5)).value_or(""), HasSubstr("-0.3000 away from zero"));
  EXPECT_THAT(distribution_shift(recorded, row(0, 0, 0.65)).value_or(""), HasSubstr("65.00 %"));
}

TEST(Distribution, TheSourcesAgreeWithTheRecordForOtherSeeds) {
  for (const std::uint64_t seed : {1U, 2U, 20261201U}) {
    const RunResults results = check_distribution_of_kernel(KernelId::mha_splitk_reduce, seed, recorded_distribution());
    const LawRow& law = results.laws.at({"mha_splitk_reduce", "distribution"});
    EXPECT_EQ(law.checked, 21U);
    EXPECT_EQ(law.failed, 0U) << results.failures.at(0).message;
  }
}

TEST(Distribution, AShiftedRecordFailsWithATokenThatReplaysIt) {
  DistributionRows recorded = recorded_distribution();
  DistributionRow& row = recorded.at({"mha_splitk_reduce", "f32", "narrow"});
  row.outward += static_cast<std::int64_t>(row.rows * row.columns) * kUlp / 2;
  const RunResults results = check_distribution_of_kernel(KernelId::mha_splitk_reduce, 1, recorded);
  EXPECT_EQ(results.laws.at({"mha_splitk_reduce", "distribution"}).failed, 1U);
  ASSERT_EQ(results.failures.size(), 1U);
  EXPECT_THAT(results.failures[0].message, HasSubstr("away from zero"));
  EXPECT_THAT(results.failures[0].found_token, ::testing::StartsWith("lse1-"));
}

TEST(Distribution, TheLawOfACaseAppliesToSamplesAlone) {
  const auto reference = make_certified_reference();
  CaseSpec sample = distribution_samples(KernelId::mha_splitk_reduce, 5, SampleUse::run).front();
  EXPECT_EQ(check_distribution(expand(sample), *reference).status, LawOutcome::Status::holds);
  sample.rows = 3;
  EXPECT_EQ(check_distribution(expand(sample), *reference).status, LawOutcome::Status::not_applicable);
}

}  // namespace
}  // namespace lsecheck
