#include "properties/case_shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "properties/case_draw.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

TEST(CaseShrink, CandidatesAreValidStrictlySimplerAndDistinct) {
  for (const auto unit : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    for (std::uint64_t i = 0; i < 400; ++i) {
      const CaseSpec spec = draw_spec(11, i, {.unit = unit, .schedule = Schedule::random});
      const std::vector<CaseSpec> candidates = shrink_candidates(spec);
      EXPECT_FALSE(candidates.empty());
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        EXPECT_EQ(spec_error(candidates[c]), std::nullopt);
        EXPECT_TRUE(simpler(candidates[c], spec));
        EXPECT_FALSE(simpler(spec, candidates[c]));
        EXPECT_EQ(candidates[c].arch, spec.arch);
        EXPECT_EQ(std::count(candidates.begin(), candidates.end(), candidates[c]), 1);
        if (candidates[c].selection == Selection::over_bucketed) {
          EXPECT_TRUE(over_bucketed_rung(candidates[c]).has_value());
        }
      }
    }
  }
}

// Follows the first candidate for which the failure persists, as the shrinker does.
template <typename Fails>
CaseSpec shrink(CaseSpec spec, Fails fails) {
  for (;;) {
    const std::vector<CaseSpec> candidates = shrink_candidates(spec);
    const auto next = std::find_if(candidates.begin(), candidates.end(), fails);
    if (next == candidates.end()) return spec;
    spec = *next;
  }
}

CaseSpec complicated() {
  CaseSpec spec;
  spec.arch = Arch::sm_103a;
  spec.selection = Selection::over_bucketed;
  spec.num_partitions = 129;
  spec.rows = 13;
  spec.heads = 5;
  spec.ov_depth = 512;
  spec.lse = LseRegime::attention;
  spec.values = ValueRegime::attention;
  spec.empties = EmptyPattern::mixed_rows;
  spec.garbage = Garbage::stale_bits;
  spec.unit = {sfu::UnitKind::spec, 99};
  spec.schedule = Schedule::random;
  spec.seed = 0xdeadbeef;
  return spec;
}

TEST(CaseShrink, WhatAlwaysFailsShrinksToTheSimplestCase) {
  const CaseSpec least = shrink(complicated(), [](const CaseSpec&) { return true; });
  CaseSpec expected;
  expected.arch = Arch::sm_103a;
  expected.num_partitions = 1;
  expected.ov_depth = 64;
  expected.out = expected.partial = DType::f32;
  expected.lse = LseRegime::ties;
  expected.values = ValueRegime::one_hot;
  expected.garbage = Garbage::zero;
  EXPECT_EQ(least, expected);
  EXPECT_TRUE(shrink_candidates(least).empty());
}

TEST(CaseShrink, MlaShrinksOverItsBuckets) {
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine_split_parallel;
  spec.selection = Selection::over_bucketed;
  spec.num_partitions = 70;
  spec.rows = 3;
  spec.heads = 4;
  spec.ov_depth = 512;
  spec.sink = SinkKind::finite;
  const CaseSpec least = shrink(spec, [](const CaseSpec&) { return true; });
  EXPECT_EQ(least.num_partitions, 2);
  EXPECT_EQ(least.ov_depth, 256);
  EXPECT_EQ(least.sink, SinkKind::none);
  EXPECT_EQ(least.selection, Selection::production);
  EXPECT_EQ(least.out, DType::f32);
  const CaseSpec two_slots = shrink(spec, [](const CaseSpec& s) { return s.num_partitions > 32; });
  EXPECT_EQ(two_slots.num_partitions, 33) << "over-bucketed: launched at 37";
  spec.selection = Selection::production;
  spec.num_partitions = 72;
  EXPECT_EQ(shrink(spec, [](const CaseSpec& s) { return s.num_partitions > 32; }).num_partitions, 37);
}

TEST(CaseShrink, SlotEdgesAreFound) {
  const auto smallest_p = [](int from) {
    return shrink(complicated(), [&](const CaseSpec& spec) { return spec.num_partitions >= from; }).num_partitions;
  };
  for (const int p : {2, 3, 32, 33, 64, 65, 97}) EXPECT_EQ(smallest_p(p), p);
}

TEST(CaseShrink, KeepsWhatTheFailureNeeds) {
  const CaseSpec found = shrink(complicated(), [](const CaseSpec& spec) {
    return spec.heads >= 2 && spec.rows >= 3 && spec.ov_depth != 64 && spec.partial == DType::bf16 &&
           spec.empties != EmptyPattern::none && spec.garbage != Garbage::zero;
  });
  EXPECT_EQ(found.heads, 2);
  EXPECT_EQ(found.rows, 3u);
  EXPECT_EQ(found.num_partitions, 1);
  EXPECT_EQ(found.ov_depth, 72);
  EXPECT_EQ(found.partial, DType::bf16);
  EXPECT_EQ(found.empties, EmptyPattern::trailing);
  EXPECT_EQ(found.garbage, Garbage::nan);
  EXPECT_EQ(found.lse, LseRegime::ties);
  EXPECT_EQ(found.unit.kind, sfu::UnitKind::h200);
  EXPECT_EQ(found.seed, 0u);
}

}  // namespace
}  // namespace lsecheck
