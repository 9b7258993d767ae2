#include "properties/case_draw.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/dispatch/mla_dispatch.h"
#include "properties/case_coverage.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

std::map<std::string, std::uint64_t> count_classes(std::uint64_t seed, std::uint64_t first, std::uint64_t cases,
                                                   const DrawLimits& limits) {
  std::map<std::string, std::uint64_t> counts;
  for (std::uint64_t i = first; i < first + cases; ++i) {
    const CaseSpec spec = draw_spec(seed, i, limits);
    EXPECT_EQ(spec_error(spec), std::nullopt);
    for (const std::string& name : coverage_classes(spec)) ++counts[name];
  }
  return counts;
}

void expect_all_covered(std::uint64_t seed, std::uint64_t first, std::uint64_t cases, const DrawLimits& limits) {
  const auto counts = count_classes(seed, first, cases, limits);
  const auto count_of = [&](const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  };
  for (const RequiredClass& required : required_classes(limits)) {
    const std::uint64_t count = count_of(required.name);
    const std::uint64_t of = required.of.empty() ? cases : count_of(required.of);
    EXPECT_TRUE(required.covered(count, of)) << required.name << ": " << count << " of " << of << " cases, "
                                             << required.min_percent << " % wanted, seed " << seed << " from " << first;
  }
}

const DrawLimits kFa4Alone{.kernels = {KernelId::fa4_splitk_combine}};

TEST(CaseDraw, TwoHundredFa4CasesHoldEveryClassInItsShare) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 20240229u, 0xffffffffu}) {
    for (const std::uint64_t first : {0u, 17u, 4000u}) expect_all_covered(seed, first, 200, kFa4Alone);
  }
}

TEST(CaseDraw, TwoThousandCasesHoldEveryClassOfEveryKernelInItsShare) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 20240229u, 0xffffffffu}) {
    for (const std::uint64_t first : {0u, 17u, 4000u}) expect_all_covered(seed, first, 2000, {});
  }
}

TEST(CaseDraw, KernelsTakeTurnsWithTheCasesTheyHaveAlone) {
  std::map<KernelId, std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const CaseSpec spec = draw_spec(6, i, {});
    EXPECT_EQ(spec, draw_spec(6, seen[spec.kernel]++, {.kernels = {spec.kernel}}));
  }
  std::uint64_t cases = 0;
  for (const KernelId kernel : kernels_matching("*")) {
    EXPECT_NEAR(static_cast<double>(seen[kernel]), 4 * percent_of_turns({}, kernel), 8) << name_of(kernel);
    cases += seen[kernel];
  }
  EXPECT_EQ(cases, 400U);
  EXPECT_EQ(percent_of_turns({.kernels = {KernelId::mla_combine}}, KernelId::mla_combine), 100);
  EXPECT_EQ(kernels_matching("mla*"),
            (std::vector<KernelId>{KernelId::mla_combine, KernelId::mla_combine_split_parallel}));
  EXPECT_TRUE(kernels_matching("mla").empty());
}

TEST(CaseDraw, CasesWithMassesTakeEveryCountFormRegimeAndType) {
  const DrawLimits alone{.kernels = {KernelId::mha_splitk_reduce}};
  std::set<int> counts;
  for (std::uint64_t i = 0; i < 64; ++i) counts.insert(draw_spec(3, i, alone).num_partitions);
  EXPECT_EQ(counts.size(), 32u) << "each of 1 to 32";
  for (const std::uint64_t first : {0u, 17u, 4000u}) expect_all_covered(5, first, 200, alone);
}

TEST(CaseDraw, EveryMlaBucketIsDrawnOnAndBelowIt) {
  for (const KernelId kernel : kernels_matching("mla*")) {
    std::map<Arch, std::set<int>> on, below;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const CaseSpec spec = draw_spec(3, i, {.kernels = {kernel}});
      if (spec.selection == Selection::over_bucketed) {
        below[spec.arch].insert(over_bucketed_rung(spec).value());
      } else {
        on[spec.arch].insert(spec.num_partitions);
      }
    }
    for (const Arch arch : kAllArchs) {
      for (const int bucket : mla_split_buckets(sm_count_of(arch))) {
        if (bucket == 1) continue;
        EXPECT_EQ(on[arch].count(bucket), 1u) << name_of(arch) << " " << bucket;
        // No count lies between 2, 3 and 4, and 8 and 9.
        if (bucket > 4 && bucket != 9) {
          EXPECT_EQ(below[arch].count(bucket), 1u) << name_of(arch) << " " << bucket;
        }
      }
    }
  }
}

TEST(CaseDraw, ThreeThousandCasesHoldEveryClassInItsShare) {
  expect_all_covered(1, 0, 3000, {});
  for (const Arch arch : kAllArchs) expect_all_covered(7, 0, 3000, {.arch = arch});
  expect_all_covered(7, 0, 3000, {.unit = sfu::UnitKind::spec, .schedule = Schedule::random});
}

TEST(CaseDraw, SixtyFa4CasesHoldEveryRegimeTypeAndDepth) {
  for (const std::uint64_t first : {0u, 7u, 1001u}) {
    const auto counts = count_classes(5, first, 60, kFa4Alone);
    for (const RequiredClass& required : required_classes(kFa4Alone)) {
      const std::string& name = required.name;
      if (name.ends_with("P=1")) continue;  // one card in a hundred
      EXPECT_EQ(counts.count(name), 1u) << name << " from " << first;
    }
  }
}

TEST(CaseDraw, PartitionCountsLieOnAndOffTheLadderAndOnEveryEdge) {
  std::map<Arch, std::set<int>> seen;
  std::set<int> all;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const CaseSpec spec = draw_spec(3, i, kFa4Alone);
    seen[spec.arch].insert(spec.num_partitions);
    all.insert(spec.num_partitions);
  }
  for (const int p : {37, 49, 74, 35, 148, 96, 64, 48, 32, 13, 3}) EXPECT_EQ(seen[Arch::sm_100a].count(p), 1u) << p;
  for (const int p : {40, 53, 80, 38, 160, 96, 64, 48, 32, 13, 3}) EXPECT_EQ(seen[Arch::sm_103a].count(p), 1u) << p;
  for (const int p : {33, 44, 66, 132}) EXPECT_EQ(seen[Arch::sm_90].count(p), 1u) << p;
  for (const int p : {1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 132, 148, 159, 160}) {
    EXPECT_EQ(all.count(p), 1u) << p;
  }
}

TEST(CaseDraw, EdgesComeUpWithinAHundredCases) {
  std::set<int> all;
  for (std::uint64_t i = 0; i < 100; ++i) all.insert(draw_spec(3, i, kFa4Alone).num_partitions);
  for (const int p : {1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 127, 128, 129, 132, 148, 159, 160}) {
    EXPECT_EQ(all.count(p), 1u) << p;
  }
}

std::uint64_t terms_of(const CaseSpec& spec) {
  return spec.rows_heads() * spec.num_partitions * spec.ov_depth;
}

TEST(CaseDraw, WorkIsBounded) {
  for (const std::uint64_t cases : {200u, 3000u}) {
    std::uint64_t total = 0, largest = 0;
    for (std::uint64_t i = 0; i < cases; ++i) {
      const std::uint64_t terms = terms_of(draw_spec(1, i, {}));
      total += terms;
      largest = std::max(largest, terms);
    }
    EXPECT_LE(total / cases, 50'000u);
    EXPECT_GE(total / cases, 20'000u);
    EXPECT_LE(largest, 160'000u);
  }
}

TEST(CaseDraw, OverBucketedCasesHaveTheirRung) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const CaseSpec spec = draw_spec(9, i, {});
    if (spec.selection == Selection::over_bucketed) {
      EXPECT_TRUE(over_bucketed_rung(spec).has_value());
    }
  }
}

TEST(CaseDraw, IsAPureFunctionOfSeedAndIndex) {
  std::vector<CaseSpec> forward;
  for (std::uint64_t i = 0; i < 100; ++i) forward.push_back(draw_spec(4, i, {}));
  for (std::uint64_t i = 100; i-- > 0;) EXPECT_EQ(draw_spec(4, i, {}), forward[i]);
  EXPECT_FALSE(draw_spec(5, 0, {}) == forward[0]);
}

TEST(CaseDraw, LimitsHold) {
  const DrawLimits limits{.arch = Arch::sm_90, .unit = sfu::UnitKind::spec, .schedule = Schedule::random};
  std::set<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const CaseSpec spec = draw_spec(4, i, limits);
    EXPECT_EQ(spec.arch, Arch::sm_90);
    EXPECT_EQ(spec.unit.kind, sfu::UnitKind::spec);
    EXPECT_EQ(spec.schedule, Schedule::random);
    seeds.insert(spec.unit.seed);
  }
  EXPECT_EQ(seeds.size(), 100u);
  // The unit and the schedule change how a case runs, not which case it is.
  CaseSpec plain = draw_spec(4, 0, {.arch = Arch::sm_90});
  CaseSpec other = draw_spec(4, 0, limits);
  other.unit = plain.unit;
  other.schedule = plain.schedule;
  EXPECT_EQ(plain, other);
}

TEST(CaseCoverage, VoidPatternsDoNotCount) {
  CaseSpec spec;
  spec.num_partitions = 1;
  spec.empties = EmptyPattern::trailing;
  spec.garbage = Garbage::inf;
  const auto has = [&](std::string_view name) {
    const auto classes = coverage_classes(spec);
    return std::count(classes.begin(), classes.end(), name) == 1;
  };
  EXPECT_TRUE(has("P=1"));
  EXPECT_FALSE(has("empties:trailing"));
  EXPECT_FALSE(has("garbage:inf"));
  spec.empties = EmptyPattern::all;
  EXPECT_TRUE(has("empties:all"));
  EXPECT_TRUE(has("garbage:inf"));
  spec.empties = EmptyPattern::none;
  spec.num_partitions = 37;
  spec.rows = 2;
  spec.heads = 2;
  EXPECT_TRUE(has("empties:none"));
  EXPECT_FALSE(has("garbage:inf"));
  EXPECT_TRUE(has("P:off_ladder"));
  EXPECT_TRUE(has("P>32"));
  EXPECT_TRUE(has("P:33-64"));
  EXPECT_TRUE(has("rows_heads>=4,heads>=2"));
  EXPECT_TRUE(has("types:bf16<-bf16"));
  spec.num_partitions = 48;
  EXPECT_FALSE(has("P:off_ladder"));
}

TEST(CaseCoverage, RequiredShareIsAFloor) {
  const RequiredClass required{"P>32", 40};
  EXPECT_TRUE(required.covered(80, 200));
  EXPECT_FALSE(required.covered(79, 200));
  EXPECT_FALSE(required.covered(0, 0));
}

}  // namespace
}  // namespace lsecheck
