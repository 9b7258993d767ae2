// What fails beside the cases of the sequence is in every report, with its kernel, its law and a line that looks at it
// again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/markdown_report.h"
#include "reports/run_summary.h"
#include "reports/sample_run.h"
#include "reports/terminal_report.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

struct ShownFailure {
  const char* kind;
  std::string kernel;
  std::string law;
  std::string takes;  // what `lsecheck repro` takes
  std::string seen;   // in its message
};

const std::vector<ShownFailure>& shown_failures() {
  static const std::vector<ShownFailure> failures{
      {"old failure", "kernelA", "negation", "old/a.st", "bits of A"},
      {"corpus input", "kernelB", "permutation", "n/corpus-x.st", "made small: P=3"},
      {"hunt", "kernelC", "accuracy", "n/hunt-c.st", "bound left by C"},
  };
  return failures;
}

const HuntKey kHunted{"kernelC", "f32", "f32", "log2", "armC", "narrow", 2};

StoredRun failing_run() {
  StoredRun run = sample_run(0);
  run.context.seed = 7;
  run.results.replays["old/a.st"] = {"old/a.st", kOldFailure, "kernelA",         "negation",
                                     "fails",    "old/a.st",  "row 0\nbits of A"};
  run.results.replays["c/x"] = {
      "c/x", kCorpusInput, "kernelB", "permutation", "fails", "n/corpus-x.st", "row 1\nmade small: P=3"};
  run.results.hunts[kHunted] = {4096, INFINITY, ""};
  run.results.failures = {
      {0, "kernelC", "accuracy", "n/hunt-c.st", "n/hunt-c.st", "", "hunted: P=2", "row 2\nbound left by C"}};
  run.results.totals.failures = 1;
  run.results.laws[{"kernelC", "accuracy"}] = {1, 0, 1};
  return run;
}

// Whether the law stands close behind some place of the kernel.
bool told_together(const std::string& text, const std::string& kernel, const std::string& law) {
  for (std::size_t at = text.find(kernel); at != std::string::npos; at = text.find(kernel, at + 1)) {
    if (text.substr(at, 100).find(law) != std::string::npos) return true;
  }
  return false;
}

struct Renderer {
  const char* name;
  std::string (*render)(const StoredRun& run);
  const char* before;  // what stands before that which repro takes
};

const Renderer kRenderers[] = {
    {"Terminal", [](const StoredRun& run) { return terminal_report(run, {}); }, "lsecheck repro "},
    {"Markdown", [](const StoredRun& run) { return markdown_report(run, {}, {}); }, "lsecheck repro "},
    {"Html", [](const StoredRun& run) { return html_report(run, {}, {}); }, "lsecheck repro "},
    {"Junit", [](const StoredRun& run) { return junit_report(run); }, "lsecheck repro "},
    {"Json", [](const StoredRun& run) { return results_text(run); }, "\""},
};

class FailuresEverywhere : public testing::TestWithParam<Renderer> {};

TEST_P(FailuresEverywhere, AreTold) {
  const std::string text = GetParam().render(failing_run());
  for (const ShownFailure& failure : shown_failures()) {
    SCOPED_TRACE(failure.kind);
    EXPECT_TRUE(told_together(text, failure.kernel, failure.law)) << text;
    EXPECT_THAT(text, HasSubstr(GetParam().before + failure.takes));
    EXPECT_THAT(text, HasSubstr(failure.seen));
  }
  EXPECT_THAT(text, HasSubstr("c/x")) << "the input of the corpus";
}

INSTANTIATE_TEST_SUITE_P(Reports, FailuresEverywhere, testing::ValuesIn(kRenderers),
                         [](const auto& renderer) { return std::string(renderer.param.name); });

// The JSON holds what the line is made of.
TEST(FailuresEverywhereTest, AHuntThatFailedComesWithTheLineThatRunsItAgain) {
  const StoredRun run = failing_run();
  const std::string line =
      "lsecheck hunt --kernel kernelC --arch armC --out f32 --partial f32 --metric bound_use "
      "--regime narrow --partitions 2 --evaluations 4096 --seed 7 --into hunted";
  EXPECT_THAT(terminal_report(run, {}), HasSubstr("\nhunts that failed\n  kernelC log2 f32<-f32 armC narrow P=2: law "
                                                  "accuracy failed\n  " +
                                                  line + "\n"));
  EXPECT_THAT(markdown_report(run, {}, {}), HasSubstr(line));
  EXPECT_THAT(html_report(run, {}, {}), HasSubstr(line));
  EXPECT_THAT(junit_report(run), HasSubstr(line));
  StoredRun held = run;
  held.results.hunts[kHunted].bound_use = 0.5;
  EXPECT_THAT(terminal_report(held, {}), Not(HasSubstr("hunts that failed")));
}

TEST(FailuresEverywhereTest, JunitHasACaseForEachTargetHunted) {
  StoredRun run = failing_run();
  HuntKey other = kHunted;
  other.num_partitions = 3;
  run.results.hunts[other] = {4096, 0.5, "kernel=..."};
  other.num_partitions = 4;
  run.results.hunts[other] = {4096, -1, ""};
  const std::string xml = junit_report(run);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"hunts\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("name=\"kernelC log2 f32&lt;-f32 armC narrow P=2\">\n      <failure message=\"law "
                             "accuracy: outside the bound, or the kernel fell over\">lsecheck hunt "));
  EXPECT_THAT(xml, HasSubstr("name=\"kernelC log2 f32&lt;-f32 armC narrow P=3\"/>"));
  EXPECT_THAT(junit_report(sample_run(0)), Not(HasSubstr("\"hunts\"")));
}

// Messages of several lines keep them, and a line to paste is a line of its own.
TEST(FailuresEverywhereTest, ReplaysKeepTheirLines) {
  const StoredRun run = failing_run();
  EXPECT_THAT(terminal_report(run, {}),
              HasSubstr("\ncorpus inputs that fail\n  c/x: kernelB, permutation: fails: row 1\n    made small: P=3\n"
                        "  lsecheck repro n/corpus-x.st\n"));
  EXPECT_THAT(markdown_report(run, {}, {}),
              HasSubstr("c/x: kernelB, permutation: fails: row 1\n\n```\nlsecheck repro n/corpus-x.st\n```\n\n```\n"
                        "made small: P=3\n```\n"));
  EXPECT_THAT(html_report(run, {}, {}), HasSubstr("<pre>made small: P=3\n</pre>"));
}

TEST(FailuresEverywhereTest, ManyReplaysThatFailAreCappedInATerminal) {
  StoredRun run = failing_run();
  for (int i = 0; i < 30; ++i) {
    const std::string file = "c/y" + std::to_string(i);
    run.results.replays[file] = {file, kCorpusInput, "k", "negation", "fails", "n/y.st", "row"};
  }
  TerminalOptions options;
  options.failures_shown = 4;
  const std::string text = terminal_report(run, options);
  EXPECT_THAT(text, HasSubstr("\n27 more of them: the results as JSON hold all of them\n"));
  EXPECT_THAT(text, HasSubstr("c/y1:"));
  EXPECT_THAT(text, Not(HasSubstr("c/y9:")));
}

// Where the first one that fails left no case, the step leads to the next.
TEST(FailuresEverywhereTest, TheNextStepIsOneThatCanBeTaken) {
  StoredRun run = failing_run();
  run.results.replays["c/a"] = {"c/a", kCorpusInput, "", "", "unreadable", "", "c/a: cut"};
  EXPECT_THAT(next_steps(run, {}), testing::Contains("  lsecheck repro n/corpus-x.st"));
}

TEST(FailuresEverywhereTest, TheNightsTellOfReplaysWithALineToo) {
  const StoredRun run = failing_run();
  const std::vector<Night> nights{night_of(sample_run(0), "a.db"), night_of(run, "b.db")};
  EXPECT_THAT(markdown_report(sample_run(0), {}, nights),
              HasSubstr("; c/x: kernelB, permutation: fails: row 1: lsecheck repro n/corpus-x.st"));
  const std::string page = html_report(sample_run(0), {}, nights);
  EXPECT_THAT(page, HasSubstr("<p>c/x: kernelB, permutation: fails: row 1</p>"));
  EXPECT_THAT(page, HasSubstr("lsecheck repro n/corpus-x.st"));
}

}  // namespace
}  // namespace lsecheck
