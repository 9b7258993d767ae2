#include "reports/markdown_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/sample_run.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(MarkdownReportTest, HasEverySection) {
  const std::string text = markdown_report(sample_run(100), {"P>32"}, {});
  EXPECT_THAT(text, StartsWith("# FAILED 3\n"));
  for (const char* heading : {"## Failures", "## Accuracy\n", "## Laws", "## Not covered",
                              "## Worst cases (largest seen)", "## Accuracy by LSE regime"}) {
    EXPECT_THAT(text, HasSubstr(heading));
  }
  EXPECT_THAT(text, HasSubstr("```\nlsecheck repro lse1-shrunk5\n"));
  EXPECT_THAT(text, HasSubstr("* P\\>32\n"));
  EXPECT_THAT(text, HasSubstr("ulp (largest seen)"));
  EXPECT_THAT(text, Not(HasSubstr("Left out")));
}

TEST(MarkdownReportTest, OneLineIsTheScoreOfTheMutants) {
  MutantsReport mutants;
  mutants.mutants.resize(3);
  mutants.mutants[0].outcome = mutants.mutants[2].outcome = MutantOutcome::killed;
  mutants.mutants[1].patch.name = "a_b";
  EXPECT_THAT(markdown_report(sample_run(10), {}, {}, mutants),
              HasSubstr("\nMutants: 2 of 3 planted bugs killed; not killed: a\\_b\n"));
  EXPECT_THAT(markdown_report(sample_run(10), {}, {}), Not(HasSubstr("Mutants")));
}

TEST(MarkdownReportTest, HuntsComeWithTheLineThatRunsThemAgain) {
  StoredRun run = sample_run(0);
  run.context.seed = 7;
  run.results.hunts[{"mla_combine", "bf16", "bf16", "log2", "sm_100a", "narrow", 37}] = {4096, 0.5, "kernel=..."};
  run.results.hunts[{"mla_combine", "bf16", "bf16", "log2", "sm_100a", "narrow", 64}] = {4096, INFINITY, ""};
  const std::string text = markdown_report(run, {}, {});
  EXPECT_THAT(text, HasSubstr("2 targets hunted, largest bound\\_use outside (mla\\_combine)"));
  EXPECT_THAT(
      text, HasSubstr("| mla\\_combine | log2 | bf16&lt;-bf16 | sm\\_100a | narrow | 37 | 4,096 | 0.5 | `lsecheck hunt "
                      "--kernel mla_combine --arch sm_100a --out bf16 --partial bf16 --metric bound_use --regime "
                      "narrow --partitions 37 --evaluations 4096 --seed 7 --into hunted` |\n"));
  EXPECT_THAT(text, HasSubstr("| 64 | 4,096 | outside |"));
}

TEST(MarkdownReportTest, WhatAGpuFoundIsReplayedThere) {
  StoredRun run = sample_run(100);
  run.context.backend = "cuda";
  const std::string text = markdown_report(run, {}, {});
  EXPECT_THAT(text, HasSubstr("```\nlsecheck repro --backend cuda lse1-shrunk5\n"));
  EXPECT_THAT(text, Not(HasSubstr("repro lse1")));
}

TEST(MarkdownReportTest, TextOfTheRunIsEscaped) {
  StoredRun run = sample_run(100);
  run.results.failures.front().shape = "a|b <script> *c*\n# d";
  const std::string text = markdown_report(run, {}, {});
  EXPECT_THAT(text, HasSubstr("a\\|b &lt;script\\> \\*c\\* \\# d"));
  // The message holds a fence of three backticks.
  EXPECT_THAT(text, HasSubstr("\n````\nrow-head 0"));
}

TEST(MarkdownReportTest, StaysUnderTheLimitAndSaysWhatItLeftOut) {
  StoredRun run = sample_run(100);
  for (std::uint64_t i = 0; i < 5000; ++i) run.results.failures.push_back(sample_failure(1000 + i));
  const std::string text = markdown_report(run, {}, {});
  EXPECT_LT(text.size(), std::size_t{1} << 20);
  EXPECT_GT(text.size(), (std::size_t{1} << 20) * 9 / 10);
  EXPECT_THAT(text, HasSubstr("Left out to stay under 1,048,575 bytes: "));
  EXPECT_LE(markdown_report(run, {}, {}, {}, 1000).size(), 1000u);
}

}  // namespace
}  // namespace lsecheck
