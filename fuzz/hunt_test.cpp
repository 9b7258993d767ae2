#include "fuzz/hunt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "fuzz/hunt_mutation.h"
#include "fuzz/worst_replay.h"
#include "kernels/registry.h"
#include "properties/case_kernel.h"
#include "properties/test_broken_kernel.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

// The cheapest kernel to run: 32 columns, one warp.
HuntTarget small_target() {
  HuntTarget target;
  target.kernel = KernelId::mha_splitk_reduce;
  target.num_partitions = 2;
  return target;
}

const std::atomic<bool> never{false};

HuntOptions isolated(std::uint64_t islands, unsigned jobs) {
  HuntOptions options;
  options.islands = islands;
  options.jobs = jobs;
  options.keep = 4;
  options.isolation = WorkerLimits{};
  return options;
}

HuntRecord hunted(const HuntTarget& target, IslandKind kind, std::uint64_t islands, unsigned jobs) {
  HuntRecord record;
  record.target = target;
  HuntOptions options;
  options.islands = islands;
  options.jobs = jobs;
  options.keep = 4;
  EXPECT_EQ(hunt(record, kind, options, never, [] {}).islands, islands);
  return record;
}

std::vector<std::string> lines_of(const HuntRecord& record) {
  std::vector<std::string> lines;
  lines.reserve(record.cases.size());
  for (const WorstCase& worst : record.cases) lines.push_back(format_worst_case(worst));
  return lines;
}

TEST(Hunt, IsTheSameOnAnyJobsAndAfterAStop) {
  const HuntTarget target = small_target();
  const HuntRecord whole = hunted(target, IslandKind::search, 3, 1);
  EXPECT_EQ(whole.cases.size(), 3u);
  EXPECT_EQ(lines_of(whole), lines_of(hunted(target, IslandKind::search, 3, 3)));

  HuntRecord resumed = hunted(target, IslandKind::search, 1, 1);
  HuntOptions options;
  options.islands = 3;
  options.keep = 4;
  EXPECT_EQ(hunt(resumed, IslandKind::search, options, never, [] {}).islands, 2u);
  EXPECT_EQ(lines_of(whole), lines_of(resumed));
}

TEST(Hunt, IsTheSameInProcessesOfItsOwn) {
  const HuntRecord whole = hunted(small_target(), IslandKind::search, 3, 1);
  HuntRecord record;
  record.target = small_target();
  const HuntOutcome outcome = hunt(record, IslandKind::search, isolated(3, 2), never, [] {});
  EXPECT_EQ(outcome.islands, 3u);
  EXPECT_EQ(outcome.death, "");
  EXPECT_EQ(lines_of(record), lines_of(whole));
}

// The third island of the process is the first to launch the kernel for the 257th time; those before are kept.
TEST(Hunt, ADeathEndsTheHuntBeforeItsIsland) {
  const HuntRecord before = hunted(small_target(), IslandKind::search, 2, 1);
  constexpr int kLaunchesOfAnIsland = 128;
  int launches = 0;
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [&](const CombineShape&) {
    if (++launches > 2 * kLaunchesOfAnIsland) std::abort();
  });
  const KernelInPlace in_place(broken);
  HuntRecord record;
  record.target = small_target();
  const HuntOutcome outcome = hunt(record, IslandKind::search, isolated(4, 1), never, [] {});
  EXPECT_EQ(outcome.death, "the process that ran the kernel crashed: Aborted");
  EXPECT_FALSE(outcome.outside);
  EXPECT_EQ(record.islands, 2u) << "a resumed hunt tries the island again";
  EXPECT_EQ(lines_of(record), lines_of(before));
}

TEST(Hunt, AHangEndsAtItsTime) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) {
    for (;;) ::pause();
  });
  const KernelInPlace in_place(broken);
  HuntRecord record;
  record.target = small_target();
  HuntOptions options = isolated(1, 1);
  options.isolation->task_time = std::chrono::milliseconds(300);
  EXPECT_EQ(hunt(record, IslandKind::search, options, never, [] {}).death,
            "the process that ran the kernel did not end within 0.3 s");
  EXPECT_EQ(record.islands, 0u);
}

// Damage that the process survives is what it is without isolation, case and all.
TEST(Hunt, OutsideTheBoundIsTheSameInProcessesOfItsOwn) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"),
                            [](const CombineShape&) { throw std::runtime_error("planted\nin two lines"); });
  const KernelInPlace in_place(broken);
  std::vector<HuntOutcome> outcomes;
  for (const bool isolate : {false, true}) {
    HuntOptions options = isolated(1, 1);
    if (!isolate) options.isolation.reset();
    HuntRecord record;
    record.target = small_target();
    outcomes.push_back(hunt(record, IslandKind::search, options, never, [] {}));
    EXPECT_EQ(record.islands, 1u);
  }
  ASSERT_TRUE(outcomes[0].outside && outcomes[1].outside);
  EXPECT_EQ(outcomes[0].outside->message, outcomes[1].outside->message);
  EXPECT_EQ(outcomes[0].outside->tensors.spec, outcomes[1].outside->tensors.spec);
  EXPECT_EQ(outcomes[0].outside->tensors.o_partial, outcomes[1].outside->tensors.o_partial);
}

TEST(Hunt, StoppedKeepsWhatItHad) {
  HuntRecord record;
  record.target = small_target();
  const std::atomic<bool> stop{true};
  EXPECT_EQ(hunt(record, IslandKind::search, {}, stop, [] {}).islands, 0u);
  EXPECT_EQ(hunt(record, IslandKind::search, isolated(1, 1), stop, [] {}).islands, 0u);
  EXPECT_EQ(record.islands, 0u);
}

TEST(Hunt, FindsMoreThanRandomRowsAndAThirdOfTheBound) {
  HuntTarget target = small_target();
  const HuntRecord found = hunted(target, IslandKind::search, 1, 1);
  const HuntRecord random = hunted(target, IslandKind::random, 1, 1);
  EXPECT_GE(found.cases.front().value, 1.5 * random.cases.front().value);
  target.metric = HuntMetric::bound_use;
  EXPECT_GE(hunted(target, IslandKind::search, 1, 1).cases.front().value, 1.0 / 3);
}

TEST(Hunt, AReplayGivesTheValueThatWasFound) {
  const HuntRecord record = hunted(small_target(), IslandKind::search, 2, 1);
  const auto reference = make_certified_reference();
  for (const WorstCase& worst : record.cases) {
    const auto replayed = replay(worst, *reference);
    ASSERT_TRUE(replayed);
    EXPECT_EQ(replayed->value, worst.value);
    EXPECT_FALSE(replayed->failure);
  }
}

TEST(Hunt, TargetsAreWhatCanBeLaunched) {
  HuntScope scope;
  scope.kernels = {KernelId::fa4_ws_level2_reduce_scatter_write, KernelId::mha_splitk_reduce};
  scope.regimes = {LseRegime::ties};
  std::vector<std::string> texts;
  for (const HuntTarget& target : hunt_targets(scope)) {
    EXPECT_TRUE(hunt_spec(target));
    texts.push_back(std::string(name_of(target.exponent)) + " " + std::to_string(target.num_partitions));
  }
  const std::vector<std::string> expected{"scaled 2", "log2 2",    "log2 2",     "log2 16",
                                          "log2 32",  "natural 2", "natural 16", "natural 32"};
  EXPECT_EQ(texts, expected);
  scope.partial = DType::bf16;  // with f32 output
  EXPECT_TRUE(hunt_targets(scope).empty());
}

TEST(Hunt, DrawnAndMutatedRowsKeepToTheRegime) {
  for (const LseRegime regime : hunt_regimes()) {
    for (const ExponentForm exponent : {ExponentForm::log2, ExponentForm::natural}) {
      HuntTarget target = small_target();
      target.regime = regime;
      target.exponent = exponent;
      target.num_partitions = 8;
      const CaseSpec spec = *hunt_spec(target);
      PhiloxStream random(3, 0x74657374, 0);
      std::vector<HuntRow> rows = draw_hunt_rows(spec, 5, 12);
      for (HuntRow& row : rows) {
        EXPECT_TRUE(inside_regime(spec, 1, row.lse));
        plant_columns(spec, row, random);
        for (int i = 0; i < 200; ++i) {
          mutate_weights(spec, row, random);
          std::uint32_t& bits = row.o[random.below(row.o.size())];
          bits = mutated_value(spec.partial, bits, random);
        }
        EXPECT_TRUE(inside_regime(spec, 1, row.lse));
        for (const float mass : row.mass) EXPECT_TRUE(mass >= 0 && mass <= 0x1p20F);
        for (const std::uint32_t bits : row.o) EXPECT_LE(std::abs(decode(spec.partial, bits)), 0x1p12);
      }
    }
  }
}

TEST(Hunt, MutatedValuesReachBothSignsAndOtherBinades) {
  PhiloxStream random(4, 0x74657374, 0);
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    double low = 0, high = 0;
    std::uint32_t bits = round_to_nearest_even(type, 1.0);
    for (int i = 0; i < 4000; ++i) {
      bits = mutated_value(type, bits, random);
      const double value = decode(type, bits);
      ASSERT_TRUE(std::abs(value) >= 0x1p-12 && std::abs(value) <= 0x1p12);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    EXPECT_LT(low, -2);
    EXPECT_GT(high, 2);
  }
}

TEST(Hunt, SortingMovesMassesAndValuesAlong) {
  HuntTarget target = small_target();
  target.num_partitions = 3;
  const CaseSpec spec = *hunt_spec(target);
  HuntRow row{{1, 3, 2}, {10, 30, 20}, {}};
  for (const std::uint32_t bits : {1U, 3U, 2U}) row.o.insert(row.o.end(), spec.ov_depth, bits);
  sort_by_exponent(spec, row);
  EXPECT_EQ(row.lse, (std::vector<float>{3, 2, 1}));
  EXPECT_EQ(row.mass, (std::vector<float>{30, 20, 10}));
  EXPECT_EQ(row.o[0], 3u);
  EXPECT_EQ(row.o[std::size_t{2} * spec.ov_depth], 1u);
}

}  // namespace
}  // namespace lsecheck
