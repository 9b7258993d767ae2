#include "reports/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/sample_run.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

Baseline sample_baseline() {
  return baseline_of(sample_run(100));
}

AccuracyKey first_key() {
  return sample_baseline().accuracy.begin()->first;
}

const AccuracyComparison& line_of(const Comparison& comparison, const AccuracyKey& key) {
  for (const AccuracyComparison& line : comparison.accuracy) {
    if (line.key == key) return line;
  }
  throw std::logic_error("no such line");
}

// The verdict on the first line after `change` was made to the new run.
template <typename Change>
Comparison after(Change change) {
  Baseline changed = sample_baseline();
  change(changed.accuracy.at(first_key()));
  return compare_runs(sample_baseline(), changed);
}

TEST(CompareRunsTest, TheSameRunIsTheSameEverywhere) {
  const Comparison comparison = compare_runs(sample_baseline(), sample_baseline());
  EXPECT_EQ(comparison.count(LineVerdict::same), comparison.accuracy.size() + comparison.laws.size());
  EXPECT_GT(comparison.accuracy.size(), 10u);
  EXPECT_FALSE(comparison.worse());
  EXPECT_FALSE(comparison.changed());
  EXPECT_THAT(comparison_text(comparison), HasSubstr("Same cases, same output bits."));
}

TEST(CompareRunsTest, ALargerWorstCaseIsWorse) {
  for (WorstSeen BaselineAccuracy::*const metric : {&BaselineAccuracy::bound_use, &BaselineAccuracy::scaled_ulp}) {
    const Comparison comparison = after([&](BaselineAccuracy& row) {
      (row.*metric).value += 0.0009765625;
      (row.*metric).token = "lse1-new";
    });
    EXPECT_EQ(line_of(comparison, first_key()).verdict, LineVerdict::worse);
    EXPECT_EQ(comparison.count(LineVerdict::worse), 1u);
    EXPECT_TRUE(comparison.worse());
    EXPECT_TRUE(comparison.changed());
    const std::string text = comparison_text(comparison);
    EXPECT_THAT(text, HasSubstr("WORSE 1, "));
    EXPECT_THAT(text, HasSubstr(" -> "));
    EXPECT_THAT(text, HasSubstr("lsecheck repro lse1-new"));
    EXPECT_THAT(text, HasSubstr("same cases: what moved"));
  }
}

TEST(CompareRunsTest, ASmallerWorstCaseIsBetterUnlessTheOtherGrew) {
  EXPECT_EQ(line_of(after([](BaselineAccuracy& row) { row.bound_use.value /= 2; }), first_key()).verdict,
            LineVerdict::better);
  const Comparison mixed = after([](BaselineAccuracy& row) {
    row.bound_use.value /= 2;
    row.scaled_ulp.value *= 2;
  });
  EXPECT_EQ(line_of(mixed, first_key()).verdict, LineVerdict::worse);
}

TEST(CompareRunsTest, OtherBitsWithTheSameWorstCasesAreSameButChanged) {
  const Comparison comparison = after([](BaselineAccuracy& row) { row.digest ^= 1; });
  EXPECT_EQ(line_of(comparison, first_key()).verdict, LineVerdict::same);
  EXPECT_TRUE(line_of(comparison, first_key()).bits_changed);
  EXPECT_FALSE(comparison.worse());
  EXPECT_TRUE(comparison.changed());
  EXPECT_THAT(comparison_text(comparison), HasSubstr("SAME     fa4_splitk_combine"));
}

TEST(CompareRunsTest, LinesOfOneRunOnlyAreNewOrGone) {
  Baseline less = sample_baseline();
  less.accuracy.erase(first_key());
  const Comparison gone = compare_runs(sample_baseline(), less);
  EXPECT_EQ(line_of(gone, first_key()).verdict, LineVerdict::gone);
  EXPECT_FALSE(gone.worse());
  EXPECT_TRUE(gone.changed());
  const Comparison appeared = compare_runs(less, sample_baseline());
  EXPECT_EQ(line_of(appeared, first_key()).verdict, LineVerdict::appeared);
  EXPECT_TRUE(appeared.changed());
  EXPECT_THAT(comparison_text(gone), HasSubstr("GONE 1"));
  EXPECT_THAT(comparison_text(appeared), HasSubstr("NEW 1"));
}

TEST(CompareRunsTest, LawsAreComparedByTheirFailures) {
  Baseline more = sample_baseline();
  const LawKey key = more.laws.begin()->first;
  more.laws[key].failed += 1;
  EXPECT_TRUE(compare_runs(sample_baseline(), more).worse());
  EXPECT_EQ(compare_runs(more, sample_baseline()).count(LineVerdict::better), 1u);
  Baseline without = sample_baseline();
  without.laws.erase(key);
  // Arriving with failures is no mere news.
  EXPECT_EQ(compare_runs(without, more).count(LineVerdict::worse), 1u);
}

TEST(CompareRunsTest, RunsOfOtherCasesSaySo) {
  StoredRun other = sample_run(100);
  other.context.seed = 3;
  other.context.commit = "another";
  const Comparison comparison = compare_runs(sample_baseline(), baseline_of(other));
  EXPECT_THAT(comparison.other_cases, testing::ElementsAre("seed 18364758544493064720 -> 3"));
  EXPECT_THAT(comparison_text(comparison), HasSubstr("hold other cases"));
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("same output bits")));
}

}  // namespace
}  // namespace lsecheck
