#include "properties/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/registry.h"
#include "kernels/simt/fiber_sanitizer.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/run_case.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "properties/token.h"

namespace lsecheck {
namespace {

class CollectingSink final : public ResultSink {
 public:
  void commit(const RunResults& batch, std::uint64_t next_case_index) override {
    results.merge(batch);
    ends.push_back(next_case_index);
  }
  RunResults results;
  std::vector<std::uint64_t> ends;
};

RunConfig small_run(std::uint64_t cases) {
  RunConfig config;
  config.profile = "smoke";
  config.seed = 5;
  config.cases = cases;
  config.law_glob = "[ars]*";
  return config;
}

bool same(const RunResults& a, const RunResults& b) {
  if (a.stats.size() != b.stats.size() || a.laws.size() != b.laws.size() || a.coverage != b.coverage) return false;
  for (const auto& [key, row] : a.stats) {
    const auto other = b.stats.find(key);
    if (other == b.stats.end() || row.digest != other->second.digest || row.elements != other->second.elements ||
        row.ulp.max.value != other->second.ulp.max.value || row.ulp.max.token != other->second.ulp.max.token ||
        row.bound_use.histogram.count != other->second.bound_use.histogram.count) {
      return false;
    }
  }
  for (const auto& [key, row] : a.laws) {
    if (row.checked != b.laws.at(key).checked || row.not_applicable != b.laws.at(key).not_applicable) return false;
  }
  return a.totals.cases == b.totals.cases && a.totals.elements == b.totals.elements;
}

TEST(Runner, ResultsDoNotDependOnJobsOrOnWhereItWasInterrupted) {
  // A batch and a bit under a sanitizer: each switch between fibers then costs microseconds.
  const std::uint64_t cases = simt::fiber_sanitizer::kActive ? 70 : 150;
  CollectingSink one;
  RunConfig config = small_run(cases);
  EXPECT_EQ(run_cases(config, one, [](const RunProgress&) {}), RunEnd::finished);
  EXPECT_EQ(one.ends.front(), 64U);
  EXPECT_EQ(one.ends.back(), cases);
  EXPECT_EQ(one.ends.size(), (cases + 63) / 64);
  EXPECT_EQ(one.results.totals.cases, cases);
  EXPECT_EQ(one.results.totals.failures, 0U);

  CollectingSink parallel;
  config.jobs = 3;
  run_cases(config, parallel, [](const RunProgress&) {});
  EXPECT_TRUE(same(one.results, parallel.results));

  CollectingSink resumed;
  config.cases = 64;
  run_cases(config, resumed, [](const RunProgress&) {});
  config.cases = cases;
  config.first_case = 64;
  run_cases(config, resumed, [](const RunProgress&) {});
  EXPECT_TRUE(same(one.results, resumed.results));
}

TEST(Runner, AnotherSeedGivesOtherCases) {
  CollectingSink one;
  CollectingSink other;
  RunConfig config = small_run(64);
  run_cases(config, one, [](const RunProgress&) {});
  config.seed = 6;
  run_cases(config, other, [](const RunProgress&) {});
  EXPECT_FALSE(same(one.results, other.results));
}

TEST(Runner, TimeStopsAtABatchBoundary) {
  CollectingSink sink;
  RunConfig config = small_run(10'000);
  config.time = std::chrono::nanoseconds(1);
  EXPECT_EQ(run_cases(config, sink, [](const RunProgress&) {}), RunEnd::out_of_time);
  EXPECT_EQ(sink.ends, (std::vector<std::uint64_t>{64}));
}

// Batches overlap, but not before a hook, which would hear of cases behind the stop.
TEST(Runner, TheHookHearsOfTheCasesOfTheRunAlone) {
  CollectingSink sink;
  RunConfig config = small_run(10'000);
  config.jobs = 3;
  config.time = std::chrono::nanoseconds(1);
  std::atomic<std::uint64_t> heard = 0;
  std::atomic<std::uint64_t> last = 0;
  config.on_measured = [&](std::uint64_t index, const CaseTensors&, const AccuracyMeasurement&) {
    ++heard;
    for (std::uint64_t before = last; before < index && !last.compare_exchange_weak(before, index);) {
    }
  };
  run_cases(config, sink, [](const RunProgress&) {});
  EXPECT_EQ(sink.ends, (std::vector<std::uint64_t>{64}));
  EXPECT_EQ(heard, 64U);
  EXPECT_EQ(last, 63U);
}

TEST(Runner, EveryCaseChecksAccuracyAndTwoMoreLaws) {
  const auto reference = make_exact_reference();
  const std::vector<const Law*> laws = matching_laws("*");
  for (std::uint64_t i = 0; i < 20; ++i) {
    const CaseSpec spec = draw_spec(1, i, {});
    const RunResults results = evaluate_case(spec, i, laws, *reference);
    std::uint64_t checked = 0;
    for (const auto& [key, row] : results.laws) checked += row.checked;
    EXPECT_EQ(checked, 3U) << describe_spec(spec);
    EXPECT_EQ(results.laws.at({std::string(name_of(spec.kernel)), "accuracy"}).checked, 1U);
    for (const auto& [key, row] : results.stats) {
      if (row.elements == 0) continue;
      const auto token = std::get<Token>(parse_token(row.ulp.max.token));
      EXPECT_EQ(token.spec, spec) << "a maximum names the case it was seen in";
    }
  }
}

// Every launch fails where there is no device: as good as one that hangs.
TEST(Runner, TroubleWithTheDeviceNamesTheCase) {
  if (cuda::availability().device)
    GTEST_SKIP() << "there is a usable device: " << cuda::describe(*cuda::availability().device);
  use_backend(Backend::cuda);
  CollectingSink sink;
  RunConfig config = small_run(64);
  config.jobs = 2;
  std::string message;
  try {
    run_cases(config, sink, [](const RunProgress&) {});
  } catch (const cuda::DeviceError& error) {
    EXPECT_EQ(error.kind(), cuda::DeviceError::Kind::unavailable);
    message = error.what();
  }
  use_backend(Backend::cpu);
  ASSERT_THAT(message,
              ::testing::StartsWith(cuda::availability().reason + ", in the case lsecheck repro --backend cuda "));
  const auto parsed = parse_token(message.substr(message.rfind(' ') + 1));
  ASSERT_TRUE(std::holds_alternative<Token>(parsed));
  const CaseSpec& spec = std::get<Token>(parsed).spec;
  EXPECT_TRUE(spec == draw_spec(config.seed, 0, config.limits) || spec == draw_spec(config.seed, 1, config.limits));
  EXPECT_TRUE(sink.ends.empty());
}

// Calls of a kernel that wreck its output: those whose number, from 0, is in `wrecked`.
class FickleKernel {
 public:
  explicit FickleKernel(const CaseSpec& spec, std::set<int> wrecked)
      : wrecked_(std::move(wrecked)),
        broken_(
            *find_kernel(name_of(spec.kernel)), [](const CombineShape&) {},
            [this](std::span<std::byte> output) { damage(output); }) {}

 private:
  void damage(std::span<std::byte> output) {
    if (wrecked_.count(calls_++) > 0) std::fill(output.begin(), output.end(), std::byte{0x7f});
  }

  std::set<int> wrecked_;
  int calls_ = 0;
  BrokenKernel broken_;
  KernelInPlace in_place_{broken_};
};

// The failure of case 0 of the seed under law accuracy, made small; the calls that look at it first included.
Failure fickle_failure(const RunConfig& config, const std::set<int>& wrecked) {
  const CaseSpec spec = draw_spec(config.seed, 0, config.limits);
  const auto reference = make_exact_reference();
  const FickleKernel fickle(spec, wrecked);
  const RunResults results = evaluate_case(spec, 0, matching_laws("accuracy"), *reference);
  EXPECT_EQ(results.failures.size(), 1U);
  return shrunk_failure(results.failures.at(0), config, *reference);
}

class AFailureThatDoesNotComeAgain : public testing::TestWithParam<int> {};

// The looks that fail: the first; the first and the one that asks whether to make it small, not the explanation.
INSTANTIATE_TEST_SUITE_P(Looks, AFailureThatDoesNotComeAgain, testing::Values(1, 2));

TEST_P(AFailureThatDoesNotComeAgain, StaysAsDrawnAndSaysWhy) {
  const TemporaryDirectory directory;
  RunConfig config = small_run(1);
  config.failure_directory = (directory / "failures").string();
  std::set<int> wrecked;
  for (int call = 0; call < GetParam(); ++call) wrecked.insert(call);
  const Failure failure = fickle_failure(config, wrecked);
  EXPECT_THAT(failure.message, testing::HasSubstr("0x7f7f"));
  EXPECT_THAT(failure.message, testing::EndsWith("\nnot made smaller: at a second look the law holds; the kernel gives "
                                                 "other bits from call to call"));
  EXPECT_EQ(failure.token, failure.found_token);
  const CaseSpec spec = draw_spec(config.seed, 0, config.limits);
  EXPECT_EQ(failure.shape, describe_spec(spec));
  const CaseFile file = load_case(failure.case_file, std::uint64_t{1} << 30);
  EXPECT_EQ(file.law, "accuracy");
  EXPECT_EQ(file.token, failure.found_token);
  EXPECT_EQ(file.tensors.spec, spec);
  EXPECT_EQ(file.tensors.o_partial, expand(spec).o_partial);
}

TEST(Runner, LawPatterns) {
  EXPECT_EQ(matching_laws("*").size(), all_laws().size() - 3)
      << "all but twin, which needs a GPU, and the two laws of a whole run";
  EXPECT_TRUE(matching_laws("frozen_*").empty());
  EXPECT_TRUE(asks_for_law("frozen_*", LawId::frozen_digest));
  EXPECT_FALSE(asks_for_law("frozen_*", LawId::distribution));
  EXPECT_THROW(matching_laws("twin"), std::invalid_argument);
  EXPECT_EQ(matching_laws("accuracy").size(), 1U);
  EXPECT_THROW(matching_laws("accurate"), std::invalid_argument);
}

}  // namespace
}  // namespace lsecheck
