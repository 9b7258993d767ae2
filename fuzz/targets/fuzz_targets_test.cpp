#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "fuzz/combine_case_input.h"
#include "fuzz/targets/combine_case_mutation.h"
#include "fuzz/targets/error_counters.h"
#include "fuzz/targets/fuzz_target.h"
#include "properties/case_limits.h"

namespace lsecheck::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t leave_alone(std::span<std::uint8_t>, std::size_t size) {
  return size;
}

TEST(FuzzTargets, HaveDistinctNamesAndPassTheirSeeds) {
  std::vector<std::string_view> names;
  for (const FuzzTarget& target : fuzz_targets()) {
    EXPECT_EQ(find_fuzz_target(target.name)->about, target.about);
    names.push_back(target.name);
    const auto seeds = target.seeds();
    EXPECT_FALSE(seeds.empty()) << target.name;
    for (const Bytes& seed : seeds) {
      const FuzzOutcome outcome = run_guarded(target, seed);
      EXPECT_EQ(outcome.failure, std::nullopt) << target.name;
      EXPECT_TRUE(outcome.worth_keeping) << target.name;
    }
    EXPECT_EQ(run_guarded(target, {}).failure, std::nullopt) << target.name << " with no input";
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(find_fuzz_target("nothing"), nullptr);
}

TEST(FuzzTargets, AnExceptionIsAFailure) {
  const FuzzTarget throwing{"throwing", "", [](FuzzInput) -> FuzzOutcome { throw std::runtime_error("boom"); }, nullptr,
                            nullptr};
  EXPECT_THAT(run_guarded(throwing, {}).failure, testing::Optional(testing::HasSubstr("boom")));
}

TEST(FuzzCombineCase, TheHeaderChoosesAndTheWordsAreBitPatterns) {
  Bytes input(kHeaderBytes, 0);
  const auto append = [&](std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) input.push_back(static_cast<std::uint8_t>(word >> shift & 0xff));
  };
  const auto layout = combine_case_layout(input);
  ASSERT_TRUE(layout);
  append(std::bit_cast<std::uint32_t>(-3.5F));
  append(0x7fc12345);
  const auto decoded = decode_combine_case(input);
  ASSERT_TRUE(decoded);
  const CaseTensors& tensors = decoded->tensors;
  EXPECT_EQ(spec_error(tensors.spec), std::nullopt);
  EXPECT_EQ(tensors.lse_partial.size(), layout->pairs);
  EXPECT_EQ(tensors.lse_partial[0], -3.5F);
  if (layout->pairs > 1) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(tensors.lse_partial[1]), 0x7fc12345U);
    EXPECT_EQ(tensors.spec.lse, LseRegime::policy) << "NaN among the exponents";
  }
  input.resize(kHeaderBytes - 1);
  EXPECT_FALSE(decode_combine_case(input));
}

// Whatever the mutator makes of a seed can be decoded, reaches many kernels, and is a function of its arguments.
TEST(FuzzCombineCase, MutationsStayDecodable) {
  Bytes buffer(1 << 14, 0);
  const Bytes seed = combine_case_seeds().front();
  std::copy(seed.begin(), seed.end(), buffer.begin());
  std::size_t size = seed.size();
  std::size_t decodable = 0;
  bool kernels[kKernelCount] = {};
  bool special = false;
  for (std::uint32_t step = 0; step < 4000; ++step) {
    Bytes again = buffer;
    const std::size_t before = size;
    size = mutate_combine_case(buffer, size, step, leave_alone);
    ASSERT_LE(size, buffer.size());
    EXPECT_EQ(mutate_combine_case(again, before, step, leave_alone), size);
    ASSERT_EQ(again, buffer);
    const auto decoded = decode_combine_case(FuzzInput(buffer).first(size));
    if (!decoded) continue;
    ++decodable;
    kernels[static_cast<std::size_t>(decoded->tensors.spec.kernel)] = true;
    special = special || decoded->tensors.spec.lse == LseRegime::policy;
  }
  EXPECT_GT(decodable, 3600U);
  EXPECT_TRUE(special);
  EXPECT_EQ(std::count(std::begin(kernels), std::end(kernels), true), kKernelCount);
}

TEST(FuzzCombineCase, ErrorsReachCountersOfTheirSize) {
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine;
  spec.out = DType::f32;
  AccuracyMeasurement measured;
  measured.grades.grades.resize(3);
  measured.grades.graded = {1, 1, 0};
  const auto reached = [&](double scaled_ulp, double bound_use) {
    const Bytes before(error_counters().begin(), error_counters().end());
    measured.grades.grades[1].scaled_ulp = scaled_ulp;
    measured.grades.grades[1].bound_use = bound_use;
    measured.grades.grades[2].scaled_ulp = 1e30;  // not graded
    count_errors(spec, measured);
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < before.size(); ++i) fresh += error_counters()[i] != before[i];
    return fresh;
  };
  EXPECT_EQ(reached(0.25, 0.5), 2U);
  EXPECT_EQ(reached(0.25, 0.5), 0U);
  EXPECT_EQ(reached(4, 0.5), 1U) << "a larger error";
  EXPECT_EQ(reached(4, 0.75), 1U) << "more of the bound";
  EXPECT_EQ(reached(INFINITY, INFINITY), 2U);
}

}  // namespace
}  // namespace lsecheck::fuzz
