#include "reports/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/sample_run.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

MutantResult planted(const std::string& name, MutantOutcome outcome) {
  MutantResult result;
  result.patch.name = name;
  result.patch.class_number = 7;
  result.patch.bug_class = "a weight left out";
  result.outcome = outcome;
  result.cases = result.cases_run = 64;
  return result;
}

MutantsReport attack_mutants(const std::string& attack) {
  MutantsReport mutants;
  mutants.profile = attack;
  for (const MutantOutcome outcome : {MutantOutcome::killed, MutantOutcome::survived}) {
    mutants.mutants.push_back(planted(attack, outcome));
    mutants.mutants.back().patch.bug_class = mutants.mutants.back().killed_by = mutants.mutants.back().detail = attack;
  }
  return mutants;
}

// Plots are in the page; the name of SVG's namespace in them is no address.
std::string without_plots(std::string page) {
  const std::string begin = "src=\"data:";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    page.erase(at, page.find('"', at + begin.size()) + 1 - at);
  }
  return page;
}

TEST(HtmlReportTest, IsOneSelfContainedPage) {
  const std::string page = without_plots(html_report(sample_run(100), {}, {}));
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
}

TEST(HtmlReportTest, HasEverySectionInOrder) {
  const std::string page = html_report(sample_run(100), {"P>32"}, {});
  std::size_t at = 0;
  for (const char* part :
       {"<h1 class=\"failed\">FAILED 3</h1>", "<h2>Not covered</h2>", "<li>P&gt;32</li>", "<h2>Failures</h2>",
        "lsecheck repro lse1-shrunk5", "<h2>Accuracy</h2>", "largest seen", "<h2>Worst cases</h2>", "<h2>Laws</h2>",
        "<h2>Accuracy by LSE regime</h2>", "<h2>Distribution of ulp</h2>", "<figure"}) {
    const std::size_t found = page.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  // Histograms of ulp and bound_use for each output type; a curve for each.
  EXPECT_EQ(occurrences(page, "<figure>"), 2u + 2u + 2u);
  EXPECT_EQ(occurrences(page, "<img alt=\""), 6u);
  EXPECT_EQ(occurrences(page, "src=\"data:image/svg+xml,"), occurrences(page, "src="));
  EXPECT_EQ(occurrences(page, "class=\"heat\""), 2u);
}

TEST(HtmlReportTest, WhatAGpuFoundIsReplayedThere) {
  StoredRun run = sample_run(100);
  run.context.backend = "cuda";
  const std::string page = html_report(run, {}, {});
  EXPECT_THAT(page, HasSubstr("lsecheck repro --backend cuda lse1-shrunk5"));
  EXPECT_EQ(occurrences(page, "lsecheck repro"), occurrences(page, "lsecheck repro --backend cuda "));
}

TEST(HtmlReportTest, TagsAreBalanced) {
  const std::string page = html_report(sample_run(100), {"P>32"}, {}, attack_mutants("x"));
  for (const char* tag : {"table", "tr", "td", "th", "div", "article", "figure", "figcaption", "details", "summary",
                          "main", "caption", "p", "pre", "button", "ul"}) {
    const std::string name = tag;
    const std::size_t opened = occurrences(page, "<" + name + ">") + occurrences(page, "<" + name + " ");
    EXPECT_EQ(opened, occurrences(page, "</" + name + ">")) << tag;
  }
}

TEST(HtmlReportTest, ChartsShowEveryCell) {
  StoredRun run = sample_run(0);
  run.results.charts[{"spread", "k", "h200", "bf16", 6, 14}] = {3, {2.5, 7, "lse1-hot", 0, 0, 0, 0}, 5};
  run.results.charts[{"spread", "k", "h200", "bf16", 0, 13}] = {1, {INFINITY, 8, "lse1-inf", 0, 0, 0, 0}, 0};
  run.results.charts[{"magnitude", "k", "h200", "bf16", 14, 0}] = {3, {2.5, 7, "lse1-hot", 0, 0, 0, 0}, 5};
  const std::string page = html_report(run, {}, {});
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">P 33-64</th>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">1024</th>"));
  EXPECT_THAT(page, HasSubstr("title=\"3 row-heads; case 7, lse1-hot\">2.5</td>"));
  EXPECT_THAT(page, HasSubstr("lse1-inf\">inf</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-k=\"2.5\">2.5</td><td data-k=\"5\">5</td><td>lse1-hot</td>"));
}

TEST(HtmlReportTest, EveryBoxThatScrollsIsReachedByKeyboard) {
  const std::string page = html_report(sample_run(100), {}, {}, attack_mutants("x"));
  EXPECT_EQ(occurrences(page, "<div class=\"wide\""), occurrences(page, "<div class=\"wide\" tabindex=\"0\""));
  EXPECT_EQ(occurrences(page, "<table"), occurrences(page, "<div class=\"wide\""));
}

TEST(HtmlReportTest, TheScoreOfPlantedBugsStandsAboveThoseNotKilled) {
  MutantsReport mutants;
  mutants.cases = 1280;
  mutants.false_alarms = {0, 7, 0, 0, 9};
  mutants.mutants = {planted("found", MutantOutcome::killed), planted("also-found", MutantOutcome::killed),
                     planted("missed-one", MutantOutcome::survived), planted("stale", MutantOutcome::does_not_apply)};
  mutants.mutants[0].killed_by = "accuracy";
  mutants.mutants[1].killed_by = "permutation";
  mutants.mutants[1].cases = 1000;
  mutants.mutants[1].flagged[1] = 3;
  const std::string page = html_report(sample_run(10), {}, {}, mutants);
  std::size_t at = 0;
  for (const char* part :
       {"<h2>Laws</h2>", "<h2>Planted bugs</h2>\n<p><b>2 of 4 planted bugs killed; 1 DOES NOT APPLY</b>",
        "<b class=\"failed\">SURVIVED</b> missed-one (7 a weight left out)", "DOES NOT APPLY</b> stale",
        "f32 default 7, ", "data-k=\"7\"><span class=\"text\">7 a weight left out</span></td>",
        "accuracy, permutation</span></td>",
        "<td data-k=\"4\">4</td><td data-k=\"2\">2</td><td data-k=\"1\">1</td><td data-k=\"1000\">1,000</td>",
        "<td data-k=\"0\">missed</td><td data-k=\"1\">1 of 4</td>", "every planted bug", "3 of 64</td>"}) {
    const std::size_t found = page.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  EXPECT_THAT(html_report(sample_run(10), {}, {}), Not(HasSubstr("Planted bugs")));
}

TEST(HtmlReportTest, HuntsAreATableWithLinesToCopy) {
  StoredRun run = sample_run(0);
  run.context.seed = 7;
  run.results.hunts[{"mla_combine", "bf16", "bf16", "log2", "sm_100a", "narrow", 37}] = {4096, 0.5, "kernel=..."};
  run.results.hunts[{"mla_combine", "bf16", "bf16", "log2", "sm_100a", "narrow", 64}] = {4096, INFINITY, ""};
  const std::string page = html_report(run, {}, {});
  EXPECT_THAT(page, HasSubstr("<h2>Hunts</h2>"));
  EXPECT_THAT(page, HasSubstr("<td data-k=\"37\">37</td><td data-k=\"4096\">4,096</td><td data-k=\"0.5\">0.5</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-k=\"inf\">outside</td>"));
  EXPECT_THAT(page, HasSubstr("lsecheck hunt --kernel mla_combine --arch sm_100a --out bf16 --partial bf16"));
  EXPECT_THAT(html_report(sample_run(0), {}, {}), Not(HasSubstr("<h2>Hunts</h2>")));
}

TEST(HtmlReportTest, ReplaysThatFailStandUnderTheirOrigin) {
  StoredRun run = sample_run(0);
  run.results.replays["a.st"] = {"a.st", kOldFailure, "k", "accuracy", "fails", "a.st", "why"};
  run.results.replays["c/x"] = {"c/x", kCorpusInput, "k", "negation", "fails", "n/corpus-x.st", "how"};
  run.results.replays["c/y"] = {"c/y", kCorpusInput, "k", "every law", "holds", "", ""};
  const std::string page = html_report(run, {}, {});
  EXPECT_THAT(page,
              HasSubstr("1 old failures replayed, 1 of them failing; 2 corpus inputs replayed, 1 of them failing"));
  EXPECT_THAT(page, HasSubstr("<h2>Old failures that are not mended</h2>\n<ul><li>a.st: k, accuracy: fails: why"));
  EXPECT_THAT(page, HasSubstr("<h2>Corpus inputs that fail</h2>\n<ul><li>c/x: k, negation: fails: how"));
  EXPECT_THAT(page, HasSubstr("lsecheck repro n/corpus-x.st"));
}

TEST(HtmlReportTest, EveryTextOfTheRunIsEscaped) {
  const std::string attack = "<img onerror=\"x\">'&";
  StoredRun run;
  run.context = sample_context();
  run.context.profile = run.context.compiler = run.context.kernel_glob = attack;
  run.results.laws[{attack, attack}] = {1, 0, 1};
  run.results.failures = {{1, attack, attack, attack, attack, attack, attack, attack}};
  StatRow& row = run.results.stats[{attack, attack, attack, attack, attack, attack, attack, attack}];
  row.ulp.max.value = 1;
  row.ulp.max.token = attack;
  row.ulp.histogram.add(1);
  run.results.charts[{"spread", attack, attack, attack, 1, 1}] = {1, row.ulp.max, 1};
  run.results.charts[{"magnitude", attack, attack, attack, 1, 0}] = {1, row.ulp.max, 1};
  run.results.replays[attack] = {attack, attack, attack, attack, "fails", attack, attack};
  run.results.hunts[{attack, attack, attack, attack, attack, attack, 1}] = {1, 0.5, attack};
  const std::string page = html_report(run, {attack}, {}, attack_mutants(attack));
  EXPECT_THAT(page, Not(HasSubstr("<img onerror")));
  EXPECT_THAT(page, HasSubstr("&lt;img onerror=&quot;x&quot;&gt;&#39;&amp;"));
}

TEST(HtmlReportTest, ManyFailuresAreCapped) {
  StoredRun run = sample_run(10);
  for (std::uint64_t i = 0; i < 1500; ++i) run.results.failures.push_back(sample_failure(1000 + i));
  const std::string page = html_report(run, {}, {});
  EXPECT_EQ(occurrences(page, "<article>"), kHtmlFailuresShown);
  EXPECT_THAT(page, HasSubstr("more failures"));
}

TEST(HtmlReportTest, AnEmptyRunStillMakesAPage) {
  EXPECT_THAT(html_report(StoredRun{}, {}, {}), HasSubstr("<h1 class=\"nothing\">NOTHING CHECKED</h1>"));
}

}  // namespace
}  // namespace lsecheck
