#include "properties/replay_shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "properties/case_expand.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"

// Stand-in laws that fail for a reason known here.
namespace lsecheck {
namespace {

using testing::HasSubstr;

CaseTensors given_case() {
  CaseSpec spec;
  spec.num_partitions = 20;
  spec.rows = 3;
  spec.heads = 2;
  spec.ov_depth = 128;
  spec.lse = LseRegime::policy;
  CaseTensors tensors = expand(spec);
  tensors.lse_partial[tensors.lse_index(7, 2)] = std::numeric_limits<float>::quiet_NaN();
  return tensors;
}

std::size_t nans_of(const CaseTensors& tensors) {
  const auto is_nan = [](float x) { return std::isnan(x); };
  return static_cast<std::size_t>(std::count_if(tensors.lse_partial.begin(), tensors.lse_partial.end(), is_nan));
}

LawOutcome no_nan(const CaseTensors& tensors, Reference&) {
  return nans_of(tensors) > 0 ? LawOutcome::fail("a NaN") : LawOutcome::pass();
}

LawOutcome ends_the_process(const CaseTensors& tensors, Reference&) {
  if (nans_of(tensors) > 0) std::abort();
  return LawOutcome::pass();
}

Law law_that(LawOutcome (*check)(const CaseTensors&, Reference&)) {
  return {LawId::permutation, "a law", "", "", check};
}

WorkerAnswer death_by(const std::string& how, bool by_itself) {
  WorkerAnswer answer;
  answer.death = how;
  answer.by_itself = by_itself;
  return answer;
}

TEST(ReplayShrink, KeepsWhatTheFailureNeeds) {
  const auto reference = make_certified_reference();
  const SmallCase small = shrunk_by_law(given_case(), "seen before", law_that(no_nan), *reference);
  EXPECT_EQ(small.tensors.spec.num_partitions, 1);
  EXPECT_EQ(small.tensors.spec.rows_heads(), 1u);
  EXPECT_EQ(nans_of(small.tensors), 1u);
  EXPECT_EQ(small.message, "a NaN\nmade small: " + describe_spec(small.tensors.spec));
}

TEST(ReplayShrink, WhatFailsAsAWholeAloneStaysAsItIs) {
  const auto reference = make_certified_reference();
  CaseTensors given = given_case();
  for (float& lse : given.lse_partial) lse = std::isnan(lse) ? lse : 0;
  const auto whole = [](const CaseTensors& tensors, Reference&) {
    return tensors.lse_partial.size() == 120 && tensors.spec.ov_depth == 128 && tensors.o_partial.front() == 1
               ? LawOutcome::fail("this size")
               : LawOutcome::pass();
  };
  std::fill(given.o_partial.begin(), given.o_partial.end(), 0U);
  given.o_partial.front() = 1;  // the smallest value there is
  const SmallCase same = shrunk_by_law(given, "seen before", law_that(whole), *reference);
  EXPECT_EQ(same.message, "this size\nnot made smaller: no smaller case fails like it");
  EXPECT_EQ(same.tensors.o_partial, given.o_partial);
  EXPECT_EQ(same.tensors.spec, given.spec);
}

TEST(ReplayShrink, WhatHoldsAtASecondLookKeepsItsMessage) {
  const auto reference = make_certified_reference();
  const auto holds = [](const CaseTensors&, Reference&) { return LawOutcome::pass(); };
  const SmallCase same = shrunk_by_law(given_case(), "seen before", law_that(holds), *reference);
  EXPECT_EQ(
      same.message,
      "seen before\nnot made smaller: at a second look the law holds; the kernel gives other bits from call to call");
  EXPECT_EQ(same.tensors.spec.num_partitions, 20);
}

TEST(ReplayShrink, ADeathIsMadeSmallByWhatDiesLikewise) {
  const auto reference = make_certified_reference();
  const SmallCase small = shrunk_by_death(given_case(), death_by("crashed: Aborted", true), law_that(ends_the_process),
                                          WorkerLimits{}, *reference);
  EXPECT_EQ(small.tensors.spec.num_partitions, 1);
  EXPECT_EQ(nans_of(small.tensors), 1u);
  EXPECT_EQ(small.message,
            "the process that ran the kernel crashed: Aborted\nmade small: " + describe_spec(small.tensors.spec));
}

TEST(ReplayShrink, ADeathAtALimitOrByWhatCameBeforeStaysAsItIs) {
  const auto reference = make_certified_reference();
  const auto message_of = [&](const std::string& how, bool by_itself) {
    const SmallCase same =
        shrunk_by_death(given_case(), death_by(how, by_itself), law_that(ends_the_process), WorkerLimits{}, *reference);
    EXPECT_EQ(same.tensors.spec.num_partitions, 20);
    return same.message;
  };
  EXPECT_EQ(message_of("did not end within 1 s", false),
            "the process that ran the kernel did not end within 1 s\n"
            "not made smaller: every attempt would run to that limit");
  EXPECT_THAT(message_of("crashed: Segmentation fault", true),
              HasSubstr("\nnot made smaller: alone this case does not do it"));
}

}  // namespace
}  // namespace lsecheck
