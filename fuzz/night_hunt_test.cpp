#include "fuzz/night_hunt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>

#include "fuzz/hunt_island.h"
#include "fuzz/worst_replay.h"
#include "kernels/registry.h"
#include "properties/case_draw.h"
#include "properties/case_file.h"
#include "properties/case_kernel.h"
#include "properties/replay_case.h"
#include "properties/results_wire.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;

// The cheapest kernel to run: its targets of two partitions in the narrow regime.
constexpr KernelId kKernel = KernelId::mha_splitk_reduce;

std::vector<HuntTarget> small_targets() {
  const KernelId kernels[] = {kKernel};
  std::vector<HuntTarget> targets;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const std::vector<HuntTarget> night = night_targets(kernels, Arch::sm_100a, seed);
    targets.insert(targets.end(), night.begin(), night.end());
  }
  std::erase_if(targets, [](const HuntTarget& target) {
    return target.num_partitions != 2 || target.regime != LseRegime::narrow || target.exponent != ExponentForm::log2;
  });
  return targets;
}

NightHunt small_hunt(const std::string& failures, unsigned jobs, bool isolated) {
  NightHunt hunt;
  hunt.seed = 20261130;
  hunt.evaluations = whole_restarts(1);
  hunt.failure_directory = failures;
  hunt.jobs = jobs;
  if (isolated) hunt.isolation = WorkerLimits{};
  return hunt;
}

RunResults hunted(unsigned jobs, bool isolated, const std::string& failures = "") {
  const std::vector<HuntTarget> targets = small_targets();
  return NightHunter(small_hunt(failures, jobs, isolated), targets).hunt(0, targets.size());
}

// Three nights in a row hunt every target once, and each of them every kernel and every pair of types.
TEST(NightHunt, ThreeNightsShareOutTheTargets) {
  const std::vector<KernelId> all = kernels_matching("*");
  std::set<HuntKey> keys;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t most = 0;
  for (std::uint64_t seed = 20261130; seed < 20261133; ++seed) {
    const std::vector<HuntTarget> targets = night_targets(all, Arch::sm_100a, seed);
    std::set<std::string> kernels, types;
    for (const HuntTarget& target : targets) {
      EXPECT_TRUE(keys.insert(key_of(target)).second);
      EXPECT_EQ(target.metric, HuntMetric::bound_use);
      kernels.insert(key_of(target).kernel);
      types.insert(key_of(target).types());
    }
    EXPECT_EQ(kernels.size(), all.size());
    EXPECT_EQ(types.size(), 5u);
    least = std::min(least, targets.size());
    most = std::max(most, targets.size());
  }
  HuntScope scope;
  scope.kernels = all;
  scope.regimes.assign(hunt_regimes().begin(), hunt_regimes().end());
  std::size_t count = 0;
  for (const DType out : {DType::bf16, DType::f16, DType::f32}) {
    for (const DType partial : {DType::bf16, DType::f16, DType::f32}) {
      scope.out = out;
      scope.partial = partial;
      count += hunt_targets(scope).size();
    }
  }
  EXPECT_EQ(keys.size(), count);
  EXPECT_LT(most, 2 * least);
}

TEST(NightHunt, RoundsUpToWholeRestarts) {
  EXPECT_EQ(whole_restarts(0), 0u);
  EXPECT_EQ(whole_restarts(1), kIslandEvaluations);
  EXPECT_EQ(whole_restarts(kIslandEvaluations), kIslandEvaluations);
  EXPECT_EQ(whole_restarts(kIslandEvaluations + 1), 2 * kIslandEvaluations);
}

TEST(NightHunt, IsTheSameOnAnyJobsAndInAnyParts) {
  const RunResults whole = hunted(1, false);
  EXPECT_EQ(whole.hunts.size(), small_targets().size());
  EXPECT_TRUE(whole.failures.empty());
  EXPECT_EQ(to_wire(hunted(3, false)), to_wire(whole));
  EXPECT_EQ(to_wire(hunted(3, true)), to_wire(whole));
  NightHunter hunter(small_hunt("", 2, true), small_targets());
  RunResults parts = hunter.hunt(0, 2);
  parts.merge(hunter.hunt(2, small_targets().size()));
  EXPECT_EQ(to_wire(parts), to_wire(whole));
}

// The row holds the case, and the case has the value of the row.
TEST(NightHunt, TheWorstCaseReplays) {
  const auto reference = make_certified_reference();
  for (const auto& [key, row] : hunted(1, false).hunts) {
    EXPECT_EQ(row.evaluations, kIslandEvaluations);
    EXPECT_GT(row.bound_use, 0.1);
    EXPECT_LE(row.bound_use, 1);
    const WorstCase worst = parse_worst_case(row.worst);
    EXPECT_EQ(key_of(worst.target), key);
    const auto again = replay(worst, *reference);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->value, row.bound_use);
  }
}

TEST(NightHunt, OutsideTheBoundIsAFailureWithACaseFile) {
  const BrokenKernel broken(*registered_kernel(kKernel),
                            [](const CombineShape&) { throw std::runtime_error("planted"); });
  const KernelInPlace in_place(broken);
  const TemporaryDirectory folder;
  const RunResults results = hunted(2, true, (folder / "failures").string());
  ASSERT_EQ(results.failures.size(), small_targets().size());
  EXPECT_EQ(results.totals.failures, results.failures.size());
  EXPECT_EQ(results.laws.at({std::string(name_of(kKernel)), "accuracy"}).failed, results.failures.size());
  for (const auto& [key, row] : results.hunts) EXPECT_EQ(row.bound_use, INFINITY);
  const auto reference = make_certified_reference();
  for (const Failure& failure : results.failures) {
    EXPECT_EQ(failure.law, "accuracy");
    EXPECT_THAT(failure.shape, HasSubstr("hunted: P=2 "));
    EXPECT_THAT(failure.message, HasSubstr("planted"));
    EXPECT_EQ(replay_case_files({failure.token}, old_failures(1 << 28), *reference).front().outcome, "fails");
  }
}

TEST(NightHunt, AKernelThatCrashesIsGivenUp) {
  const BrokenKernel broken(*registered_kernel(kKernel), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const RunResults results = hunted(3, true);
  EXPECT_EQ(to_wire(hunted(1, true)), to_wire(results));
  EXPECT_EQ(results.hunts.size(), 3u) << "of 5 targets";
  ASSERT_EQ(results.failures.size(), 3u);
  for (const Failure& failure : results.failures) {
    EXPECT_THAT(failure.message, HasSubstr("was hunted the process that ran the kernel crashed: Aborted"));
    EXPECT_THAT(failure.token, testing::StartsWith("lse1-"));
  }
}

}  // namespace
}  // namespace lsecheck
