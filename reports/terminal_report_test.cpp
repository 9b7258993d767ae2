#include "reports/terminal_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/run_summary.h"
#include "reports/sample_run.h"

namespace lsecheck {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

StoredRun clean_run() {
  StoredRun run = sample_run(100);
  run.results.failures.clear();
  run.results.totals.failures = 0;
  for (auto& [key, row] : run.results.laws) row.failed = 0;
  return run;
}

TEST(TerminalReportTest, TheVerdictIsTheFirstLine) {
  EXPECT_THAT(terminal_report(clean_run(), {}), StartsWith("CLEAN\n100 cases, "));
  EXPECT_THAT(terminal_report(sample_run(100), {}), StartsWith("FAILED 3\n"));
  StoredRun nothing;
  nothing.finished = true;
  EXPECT_THAT(terminal_report(nothing, {}), StartsWith("NOTHING CHECKED\n"));
  StoredRun unfinished = clean_run();
  unfinished.finished = false;
  EXPECT_THAT(terminal_report(unfinished, {}), StartsWith("CLEAN SO FAR\n"));
  EXPECT_THAT(terminal_report(unfinished, {}), HasSubstr("UNFINISHED, next case 100"));
}

TEST(TerminalReportTest, WaivedFailuresDoNotCountButBadWaiversDo) {
  StoredRun run = sample_run(100);
  run.waivers.waived = {{{"fa4_splitk_combine", "accuracy"}, 3}};
  EXPECT_EQ(verdict_of(run), Verdict::clean);
  EXPECT_THAT(terminal_report(run, {}), StartsWith("CLEAN\n100 cases, "));
  EXPECT_THAT(verdict_basis(run), EndsWith("; 3 failures waived"));
  EXPECT_THAT(terminal_report(run, {}), Not(HasSubstr("Replay the first failure")));
  run.waivers.waived.begin()->second = 2;
  EXPECT_THAT(terminal_report(run, {}), StartsWith("FAILED 1\n"));
  run.waivers.waived.begin()->second = 3;
  run.waivers.problems = {"w.txt line 4: fa4_splitk_combine accuracy narrow: fails no more"};
  EXPECT_EQ(verdict_of(run), Verdict::failed);
  EXPECT_THAT(terminal_report(run, {}), StartsWith("FAILED 1\n"));
  EXPECT_THAT(terminal_report(run, {}), HasSubstr("Bring the waivers up to date:\n  w.txt line 4: fa4_splitk_combine"));
}

TEST(TerminalReportTest, AFailureAnywhereIsAFailure) {
  StoredRun by_law = clean_run();
  by_law.results.laws.begin()->second.failed = 2;
  EXPECT_THAT(terminal_report(by_law, {}), StartsWith("FAILED 2\n"));
  StoredRun by_total = clean_run();
  by_total.results.totals.failures = 1;
  EXPECT_THAT(terminal_report(by_total, {}), StartsWith("FAILED 1\n"));
  StoredRun by_list = clean_run();
  by_list.results.failures = {sample_failure(1)};
  EXPECT_THAT(terminal_report(by_list, {}), StartsWith("FAILED 1\n"));
}

TEST(TerminalReportTest, EndsWithWhatToDo) {
  EXPECT_THAT(terminal_report(clean_run(), {}),
              EndsWith("\nNothing to repair. Look further with another --seed or more --cases.\n"));
  EXPECT_THAT(terminal_report(sample_run(100), {}), EndsWith("  lsecheck repro lse1-shrunk5\n"));
  StoredRun unfinished = clean_run();
  unfinished.finished = false;
  EXPECT_THAT(terminal_report(unfinished, {}), EndsWith("with --resume.\n"));
}

TEST(TerminalReportTest, ShowsTablesFailuresAndGaps) {
  TerminalOptions options;
  options.not_covered = {"P>32", "lse:ties"};
  options.failures_shown = 2;
  const std::string text = terminal_report(sample_run(100), options);
  EXPECT_THAT(text, HasSubstr("fa4_splitk_combine, unit h200"));
  EXPECT_THAT(text, HasSubstr("by LSE regime: the largest seen"));
  EXPECT_THAT(text, HasSubstr("  runtime  f32<-f32 "));
  EXPECT_THAT(text, HasSubstr("single_partition"));
  EXPECT_THAT(text, HasSubstr("not covered\n  P>32, lse:ties\n"));
  EXPECT_THAT(text, HasSubstr("  P=33 rows=1 heads=1 D=64 bf16<-bf16 narrow/normal/none\n"));
  EXPECT_THAT(text, HasSubstr("\n  lsecheck repro lse1-shrunk9\n"));
  EXPECT_THAT(text, Not(HasSubstr("lse1-shrunk10")));
  EXPECT_THAT(text, HasSubstr("1 more failures"));
  EXPECT_THAT(text, HasSubstr("is an assumption"));
}

TEST(TerminalReportTest, FitsInto120Columns) {
  StoredRun run = sample_run(100);
  for (auto& [key, row] : run.results.stats) {
    row.cases = 12'345'678;
    row.row_heads = 1'234'567'890;
    row.elements = 123'456'789'012;
    row.correctly_rounded = row.elements - 1;
  }
  run.results.failures.front().message = std::string(300, 'a').replace(100, 1, " ").replace(200, 1, " ");
  TerminalOptions options;
  options.not_covered.assign(60, "values:subnormal");
  for (const std::string& line : split_lines(terminal_report(run, options))) {
    if (line.starts_with("  lsecheck repro ")) continue;
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(TerminalReportTest, ColourAndControlCharactersOnlyWhenAskedFor) {
  StoredRun run = sample_run(100);
  run.results.failures.front().message = "\x1b[31mred\x07";
  run.results.failures.front().shape = "\x1b]0;title";
  run.context.profile = "\x1b[2J";
  EXPECT_THAT(terminal_report(run, {}), Not(HasSubstr("\x1b")));
  TerminalOptions colour;
  colour.colour = true;
  EXPECT_THAT(terminal_report(run, colour), StartsWith("\x1b[1;31mFAILED 3\x1b[0m\n"));
}

TEST(RunSummaryTest, LinesToPasteAreQuotedForTheShell) {
  RunContext context = sample_context();
  EXPECT_EQ(repro_line(context, "lse1-abc"), "lsecheck repro lse1-abc");
  EXPECT_EQ(repro_line(context, "my case.safetensors"), "lsecheck repro 'my case.safetensors'");
  EXPECT_EQ(repro_line(context, "a'; rm b"), "lsecheck repro 'a'\\''; rm b'");
  context.backend = "plugin ./my kernel.so";
  EXPECT_EQ(repro_line(context, "lse1-abc"), "lsecheck repro --plugin './my kernel.so' lse1-abc");
}

TEST(TerminalReportTest, WhatAGpuFoundIsReplayedThere) {
  StoredRun run = sample_run(100);
  run.context.backend = "cuda";
  const std::string text = terminal_report(run, {});
  EXPECT_THAT(text, HasSubstr("\n  lsecheck repro --backend cuda lse1-shrunk5\n"));
  EXPECT_THAT(text, HasSubstr("\n  lsecheck repro --backend cuda failures/case5.safetensors\n"));
  EXPECT_THAT(text, EndsWith("  lsecheck repro --backend cuda lse1-shrunk5\n"));
  EXPECT_THAT(text, Not(HasSubstr("repro lse1")));
}

}  // namespace
}  // namespace lsecheck
