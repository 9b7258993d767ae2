#include "reports/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

const HuntKey& hunted_target() {
  static const HuntKey key = sample_run(100).results.hunts.begin()->first;
  return key;
}

// The sample against itself with another row for its first target.
Comparison after_hunt(double old_bound_use, double new_bound_use, const std::string& new_worst) {
  StoredRun old_run = sample_run(100);
  StoredRun new_run = old_run;
  old_run.results.hunts[hunted_target()] = {4096, old_bound_use, "kernel=old"};
  new_run.results.hunts[hunted_target()] = {4096, new_bound_use, new_worst};
  return compare_runs(old_run, new_run);
}

TEST(CompareRunsTest, TheSameHuntsAreTheSame) {
  const Comparison comparison = compare_runs(sample_run(100), sample_run(100));
  EXPECT_GT(comparison.hunts.lines.size(), 1u);
  EXPECT_EQ(comparison.count(LineVerdict::same),
            comparison.accuracy.size() + comparison.laws.size() + comparison.hunts.lines.size());
  EXPECT_FALSE(comparison.changed());
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, HasSubstr("Same cases, same output bits.\n\nhunts: "));
  EXPECT_THAT(text, testing::EndsWith(" targets in both runs, 0 in the old run alone, 0 in the new run alone\n"
                                      "Same hunts, same finds.\n"));
}

TEST(CompareRunsTest, ALargerFindIsWorseThoughNoCaseMoved) {
  for (const double larger : {0.5009765625, std::numeric_limits<double>::infinity()}) {
    const Comparison comparison = after_hunt(0.5, larger, "kernel=new");
    EXPECT_EQ(comparison.count(LineVerdict::worse), 1u);
    EXPECT_TRUE(comparison.worse());
    const std::string text = comparison_text(comparison);
    EXPECT_THAT(text, HasSubstr("WORSE 1, BETTER 0"));
    EXPECT_THAT(text, HasSubstr("Same cases, same output bits."));
    EXPECT_THAT(text, HasSubstr("The hunts searched alike: what moved is the kernels'."));
    EXPECT_THAT(text, HasSubstr(std::isinf(larger) ? "changed  0.5 -> outside\n" : "changed  0.5 -> 0.501\n"));
    EXPECT_THAT(text, HasSubstr("  old 0.5: lsecheck hunt --kernel fa4_splitk_combine --arch sm_100a"));
    EXPECT_THAT(text, HasSubstr(std::isinf(larger) ? "  new outside: lsecheck hunt " : "  new 0.501: lsecheck hunt "));
  }
}

TEST(CompareRunsTest, ASmallerFindIsBetterAndAnotherOneIsSameButChanged) {
  const Comparison smaller = after_hunt(0.5, 0.25, "kernel=new");
  EXPECT_EQ(smaller.count(LineVerdict::better), 1u);
  EXPECT_FALSE(smaller.worse());
  const Comparison other = after_hunt(0.5, 0.5, "kernel=new");
  EXPECT_EQ(other.count(LineVerdict::better) + other.count(LineVerdict::worse), 0u);
  EXPECT_TRUE(other.changed());
  EXPECT_THAT(comparison_text(other), HasSubstr("  SAME     fa4_splitk_combine  log2 "));
  EXPECT_FALSE(after_hunt(0.5, 0.5, "kernel=old").changed());
}

TEST(CompareRunsTest, HuntsOfAnotherSeedOrLengthMayMoveByChance) {
  StoredRun other = sample_run(100);
  other.context.hunt_evaluations = 8192;
  for (auto& [key, row] : other.results.hunts) row.evaluations = 8192;
  const Comparison longer = compare_runs(sample_run(100), other);
  EXPECT_FALSE(longer.changed()) << "the same finds";
  EXPECT_THAT(comparison_text(longer),
              HasSubstr("so a largest value may move without the kernel:\n  hunt_evaluations 4096 -> 8192\n"));
  other.context.seed = 3;
  other.context.commit = "another";
  EXPECT_THAT(compare_runs(sample_run(100), other).hunts.other_search,
              testing::ElementsAre("hunt_evaluations 4096 -> 8192", "seed 18364758544493064720 -> 3"));
}

// Two nights in a row hunt other thirds.
TEST(CompareRunsTest, TargetsOfOneRunAloneAreCountedAndChangeNothing) {
  StoredRun less = sample_run(100);
  const std::size_t hunted = less.results.hunts.size();
  less.results.hunts.erase(hunted_target());
  const Comparison comparison = compare_runs(less, sample_run(100));
  EXPECT_FALSE(comparison.changed());
  EXPECT_EQ(comparison.count(LineVerdict::appeared), 0u);
  EXPECT_THAT(comparison_text(comparison),
              HasSubstr("hunts: " + std::to_string(hunted - 1) +
                        " targets in both runs, 0 in the old run alone, 1 in the new run alone\n"));
  less.results.hunts.clear();
  const Comparison none = compare_runs(sample_run(100), less);
  EXPECT_FALSE(none.changed());
  EXPECT_THAT(comparison_text(none), testing::EndsWith("\nhunts: 0 targets in both runs, " + std::to_string(hunted) +
                                                       " in the old run alone, 0 in the new run alone\n"));
}

}  // namespace
}  // namespace lsecheck
