#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <variant>

#include "kernels/registry.h"
#include "kernels/simt/fiber_sanitizer.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/replay_case.h"
#include "properties/results_wire.h"
#include "properties/runner.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "properties/token.h"

// Broken kernels in the place of a registered one, run in processes of their own.
namespace lsecheck {
namespace {

using testing::HasSubstr;

constexpr const char* kBroken = "mha_splitk_reduce";

class CollectingSink final : public ResultSink {
 public:
  void commit(const RunResults& batch, std::uint64_t) override { results.merge(batch); }
  RunResults results;
};

RunConfig isolated_run(std::uint64_t cases, unsigned jobs) {
  RunConfig config;
  config.profile = "smoke";
  config.seed = 3;
  config.cases = cases;
  config.jobs = jobs;
  config.isolation = WorkerLimits{};
  return config;
}

RunResults run(const RunConfig& config) {
  CollectingSink sink;
  EXPECT_EQ(run_cases(config, sink, [](const RunProgress&) {}), RunEnd::finished);
  return sink.results;
}

RunResults run_broken(const RunConfig& config, const std::function<void(const CombineShape&)>& misdeed) {
  const BrokenKernel broken(*find_kernel(kBroken), misdeed);
  const KernelInPlace in_place(broken);
  return run(config);
}

// Only the kernel that broke has failures, each with the token of a case of its own, and no other kernel lost a case.
void expect_only_the_broken_kernel_fails(const RunResults& results, const RunConfig& config, const std::string& how) {
  EXPECT_EQ(results.totals.cases, config.cases);
  ASSERT_FALSE(results.failures.empty());
  for (const Failure& failure : results.failures) {
    EXPECT_EQ(failure.kernel, kBroken);
    EXPECT_THAT(failure.message, HasSubstr("the process that ran the kernel " + how));
    const auto parsed = parse_token(failure.found_token);
    ASSERT_TRUE(std::holds_alternative<Token>(parsed));
    EXPECT_EQ(std::get<Token>(parsed).spec, draw_spec(config.seed, failure.case_index, config.limits));
    EXPECT_EQ(find_law(std::get<Token>(parsed).law)->name, failure.law);
  }
  RunConfig whole = config;
  whole.isolation.reset();
  const RunResults sound = run(whole);
  for (const auto& [key, row] : sound.laws) {
    if (key.kernel == kBroken) continue;
    EXPECT_EQ(results.laws.at(key).checked, row.checked) << key.kernel << ' ' << key.law;
  }
}

TEST(IsolatedCases, GiveTheBytesOfARunOnThreads) {
  RunConfig config = isolated_run(130, 3);
  const std::string isolated = to_wire(run(config));
  config.jobs = 1;
  EXPECT_EQ(to_wire(run(config)), isolated);
  config.isolation.reset();
  EXPECT_EQ(to_wire(run(config)), isolated);
}

TEST(IsolatedCases, AKernelThatCrashesFailsAlone) {
  const RunConfig config = isolated_run(64, 2);
  const RunResults results = run_broken(config, [](const CombineShape& shape) {
    if (shape.num_partitions > 16) std::abort();
  });
  expect_only_the_broken_kernel_fails(results, config, "crashed: Aborted");
}

// A crash becomes the smallest case that crashes likewise: of this kernel, P = 17.
TEST(IsolatedCases, ACrashIsMadeSmall) {
  const TemporaryDirectory folder;
  RunConfig config = isolated_run(64, 2);
  config.law_glob = "accuracy";
  config.failure_directory = (folder / "failures").string();
  const auto crash = [](const CombineShape& shape) {
    if (shape.num_partitions > 16) std::abort();
    if (shape.num_partitions == 16) ::_exit(1);  // another failure, not this one smaller
  };
  const RunResults results = run_broken(config, crash);
  ASSERT_FALSE(results.failures.empty());
  for (const Failure& failure : results.failures) {
    EXPECT_THAT(failure.message, testing::StartsWith("the process that ran the kernel crashed: Aborted"));
    const auto small = std::get<Token>(parse_token(failure.token)).spec;
    EXPECT_EQ(small.num_partitions, 17);
    EXPECT_EQ(small.rows_heads(), 1U);
    EXPECT_EQ(failure.shape, describe_spec(small));
    EXPECT_NE(failure.found_token, failure.token);
    const CaseFile file = load_case(failure.case_file, 1 << 28);
    EXPECT_EQ(file.token, failure.token);
    EXPECT_EQ(file.tensors.spec.num_partitions, 17);
  }
  config.jobs = 5;
  EXPECT_EQ(run_broken(config, crash).failures, results.failures);
}

// What was begun behind the batch that stops the run is not kept, however far it came.
TEST(IsolatedCases, AStoppedRunHoldsTheSameOnAnyJobs) {
  const BrokenKernel broken(*find_kernel(kBroken), [](const CombineShape& shape) {
    if (shape.num_partitions > 20) throw std::runtime_error("planted");
  });
  const KernelInPlace in_place(broken);
  const auto stopped = [](const RunConfig& config) {
    CollectingSink sink;
    EXPECT_EQ(run_cases(config, sink, [](const RunProgress&) {}), RunEnd::too_many_failures);
    EXPECT_EQ(sink.results.totals.cases, 64U);
    return to_wire(sink.results);
  };
  RunConfig config = isolated_run(1000, 1);
  config.law_glob = "accuracy";
  config.max_failures = 1;
  const std::string bytes = stopped(config);
  config.jobs = 6;
  EXPECT_EQ(stopped(config), bytes);
  config.isolation.reset();
  EXPECT_EQ(stopped(config), bytes);
}

// What a case leaves behind can bring down a later one, which is then not made small by itself.
TEST(IsolatedCases, ACrashOfWhatEarlierCasesLeftStaysAsDrawn) {
  RunConfig config = isolated_run(4, 1);
  config.limits.kernels = {KernelId::mha_splitk_reduce};
  config.law_glob = "accuracy";
  const RunResults results = run_broken(config, [](const CombineShape&) {
    static int launches = 0;
    if (++launches == 3) std::abort();
  });
  ASSERT_EQ(results.failures.size(), 1U);
  EXPECT_EQ(results.failures[0].case_index, 2U);
  EXPECT_EQ(results.failures[0].token, results.failures[0].found_token);
  EXPECT_THAT(results.failures[0].message, HasSubstr("\nnot made smaller: alone this case does not do it"));
}

// A run that was interrupted after some deaths goes on to the bytes of one that was not.
TEST(IsolatedCases, DeathsOfAnInterruptedRunCount) {
  RunConfig config = isolated_run(128, 2);
  config.law_glob = "accuracy";
  const auto crash = [](const CombineShape& shape) {
    if (shape.num_partitions > 20 && shape.num_partitions % 2 == 0) std::abort();
  };
  const RunResults whole = run_broken(config, crash);
  ASSERT_EQ(whole.failures.size(), kDeathsUntilGivenUp);
  config.cases = 64;
  RunResults parts = run_broken(config, crash);
  ASSERT_LT(parts.failures.size(), kDeathsUntilGivenUp);
  ASSERT_FALSE(parts.failures.empty());
  config.cases = 128;
  config.first_case = 64;
  config.earlier_failures = parts.failures;
  parts.merge(run_broken(config, crash));
  EXPECT_EQ(to_wire(parts), to_wire(whole));
}

// After a few deaths the kernel is not run again, so a hang in every case costs a few time limits; where that happens
// does not depend on the number of jobs.
TEST(IsolatedCases, AKernelThatHangsIsGivenUpAfterAFewCases) {
  RunConfig config = isolated_run(16, 1);
  config.limits.kernels = {KernelId::mha_splitk_reduce};
  config.isolation->task_time = std::chrono::milliseconds(300);
  const auto hang = [](const CombineShape&) {
    for (;;) ::pause();
  };
  const RunResults results = run_broken(config, hang);
  EXPECT_EQ(results.totals.cases, 16U);
  ASSERT_EQ(results.failures.size(), kDeathsUntilGivenUp);
  for (const Failure& failure : results.failures) {
    EXPECT_THAT(failure.message, HasSubstr("the process that ran the kernel did not end within 0.3 s"));
    EXPECT_THAT(failure.message, HasSubstr("\nnot made smaller: every attempt would run to that limit"));
    EXPECT_EQ(failure.token, failure.found_token);
  }
  EXPECT_THAT(results.failures.back().message, HasSubstr("after 3 such cases this kernel is run no more"));
  config.jobs = 5;
  EXPECT_EQ(run_broken(config, hang).failures, results.failures);
}

TEST(IsolatedCases, AKernelThatLeaksMeetsItsLimit) {
  if (simt::fiber_sanitizer::kActive) {
    GTEST_SKIP() << "a sanitizer's operator new ends the process where it should throw bad_alloc";
  }
  RunConfig config = isolated_run(64, 2);
  config.isolation->memory_bytes = 512 << 20;
  const RunResults results = run_broken(config, [](const CombineShape&) {
    // A compiler may leave out what nobody can see.
    [[maybe_unused]] static char* volatile lost = nullptr;
    lost = new char[std::size_t{100} << 20];
  });
  expect_only_the_broken_kernel_fails(results, config, "took more than the 512 MiB of memory that it may");
}

TEST(IsolatedCases, ALostCaseLeavesItsFile) {
  const TemporaryDirectory folder;
  RunConfig config = isolated_run(64, 2);
  config.failure_directory = (folder / "failures").string();
  const RunResults results = run_broken(config, [](const CombineShape&) { ::_exit(9); });
  ASSERT_EQ(results.failures.size(), kDeathsUntilGivenUp);
  for (const Failure& failure : results.failures) {
    const CaseFile file = load_case(failure.case_file, 1 << 28);
    EXPECT_EQ(file.token, failure.token);
    EXPECT_EQ(file.law, failure.law);
  }
}

// A failure is made small in the worker; where a smaller case brings it down, the failure stays as it was drawn.
TEST(IsolatedCases, ShrinkingThatCrashesLeavesTheFailureAsDrawn) {
  RunConfig config = isolated_run(64, 2);
  config.law_glob = "accuracy";
  config.max_failures = 1000;
  const BrokenKernel broken(*find_kernel(kBroken), [](const CombineShape& shape) {
    if (shape.num_partitions == 1) std::abort();
    throw std::runtime_error("planted");
  });
  const KernelInPlace in_place(broken);
  const RunResults results = run(config);
  ASSERT_FALSE(results.failures.empty());
  bool as_drawn = false;
  for (const Failure& failure : results.failures) {
    EXPECT_EQ(failure.kernel, kBroken);
    as_drawn =
        as_drawn || failure.message.find("not made smaller: a smaller case crashed: Aborted") != std::string::npos;
  }
  EXPECT_TRUE(as_drawn);
}

// Old failures are replayed in processes too: one that crashes "fails", and the next is replayed.
TEST(IsolatedCases, AnOldFailureThatCrashesFails) {
  const TemporaryDirectory folder;
  std::vector<std::string> files;
  for (const KernelId kernel : {KernelId::mha_splitk_reduce, KernelId::mla_combine}) {
    DrawLimits limits;
    limits.kernels = {kernel};
    files.push_back((folder / (std::string(name_of(kernel)) + ".safetensors")).string());
    save_case(files.back(), {expand(draw_spec(1, 0, limits)), "accuracy", "", kGeneratorVersion});
  }
  const auto reference = make_reference(ReferenceKind::certified);
  const ReplaySource source = old_failures(1 << 28);
  EXPECT_EQ(replay_case_files_isolated(files, source, *reference, WorkerLimits{}, 1),
            replay_case_files(files, source, *reference));
  const BrokenKernel broken(*find_kernel(kBroken), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const std::vector<Replay> replays = replay_case_files_isolated(files, source, *reference, WorkerLimits{}, 1);
  EXPECT_EQ(replays[0], (Replay{files[0], kOldFailure, kBroken, "accuracy", "fails", files[0],
                                "the process that ran the kernel crashed: Aborted"}));
  EXPECT_EQ(replays[1].outcome, "holds");
}

// What the isolation is for: the same kernel on threads of the process takes it down.
TEST(IsolatedCasesDeathTest, WithoutIsolationACrashEndsTheRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  RunConfig config = isolated_run(64, 1);
  config.isolation.reset();
  EXPECT_DEATH(run_broken(config, [](const CombineShape&) { std::abort(); }), "");
}

}  // namespace
}  // namespace lsecheck
