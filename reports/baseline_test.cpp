#include "reports/baseline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/sample_run.h"
#include "reports/store_error_matcher.h"

namespace lsecheck {
namespace {

TEST(BaselineTest, TextReadsBackToTheSame) {
  for (const std::uint64_t cases : {0u, 1u, 100u}) {
    Baseline baseline = baseline_of(sample_run(cases));
    if (cases == 1) baseline.accuracy.begin()->second.bound_use = {};
    const std::string text = baseline_text(baseline);
    EXPECT_EQ(parse_baseline(text, "b.txt"), baseline);
    EXPECT_EQ(baseline_text(parse_baseline(text, "b.txt")), text);
  }
  EXPECT_NE(baseline_text(baseline_of(sample_run(100))).find(" inf lse1-case"), std::string::npos);
}

TEST(BaselineTest, HasALineForEachVariantAndRegimeAndNothingOfTheBuild) {
  const StoredRun run = sample_run(100);
  const std::string text = baseline_text(baseline_of(run));
  const auto lines = accuracy_table(run.results).regimes.size();
  std::size_t found = 0;
  for (std::size_t at = text.find("\naccuracy "); at != std::string::npos; at = text.find("\naccuracy ", at + 1))
    ++found;
  EXPECT_EQ(found, lines);
  for (const char* build : {"0123456789ab", "GNU", "ffp-contract", "certified"}) {
    EXPECT_EQ(text.find(build), std::string::npos) << build;
  }
}

TEST(BaselineTest, HuntsMakeNoOtherCases) {
  StoredRun run = sample_run(100);
  const auto cases = baseline_of(run).cases;
  run.context.hunt_evaluations += 4096;
  EXPECT_EQ(baseline_of(run).cases, cases);
}

TEST(BaselineTest, CommentsAndEmptyLinesAreSkipped) {
  EXPECT_EQ(parse_baseline("lsecheck baseline 1\n\n# why\nlaw k l 3 0\n", "b.txt").laws.size(), 1u);
}

TEST(BaselineTest, RefusesWithTheLineOfTheFault) {
  struct Fault {
    const char* text;
    const char* message;
  };
  const Fault faults[] = {
      {"", "line 1 is not 'lsecheck baseline 1'"},
      {"lsecheck baseline 2\n", "line 1 is not 'lsecheck baseline 1'"},
      {"lsecheck baseline 1\nlaw k l 3 0", "line 2 has no end"},
      {"lsecheck baseline 1\nlaw k l 3\n", "line 2 ends too early"},
      {"lsecheck baseline 1\nlaw k l 3 0 0\n", "line 2 is too long"},
      {"lsecheck baseline 1\nlaw k l 3 -1\n", "line 2 has '-1' in place of a number"},
      {"lsecheck baseline 1\nlaw k l 3 1x\n", "line 2 has '1x' in place of a number"},
      {"lsecheck baseline 1\nlaw k  l 3 1\n", "line 2 has an empty field"},
      {"lsecheck baseline 1\nlaw k l 3 0\nlaw k l 3 0\n", "line 3 repeats an earlier line"},
      {"lsecheck baseline 1\nfoo bar\n", "line 2 begins with 'foo'"},
      {"lsecheck baseline 1\naccuracy k v u bf16-f32 r 1 1 0x0000000000000000 - - - -\n", "in place of OUT<-PARTIAL"},
      {"lsecheck baseline 1\naccuracy k v u o<-p r 1 1 0x00 - - - -\n", "in place of 0x and 16 digits"},
      {"lsecheck baseline 1\naccuracy k v u o<-p r 1 1 0x000000000000000g - - - -\n", "000g' in it"},
      {"lsecheck baseline 1\naccuracy k v u o<-p r 1 1 0x0000000000000000 nan t - -\n", "'nan' in place of a number"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.text);
    expect_store_error(store_error_of([&] { parse_baseline(fault.text, "b.txt"); }), StoreError::Kind::unreadable,
                       {"cannot read b.txt: ", fault.message, "--format baseline"});
  }
}

}  // namespace
}  // namespace lsecheck
