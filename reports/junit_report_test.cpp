#include "reports/junit_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(JunitReportTest, ATestCaseForEachKernelAndLaw) {
  const std::string xml = junit_report(sample_run(100));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"fa4_splitk_combine\" tests=\"2\" failures=\"1\" errors=\"0\" "));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"lsecheck.fa4_splitk_combine\" name=\"single_partition\"/>"));
  EXPECT_THAT(xml, HasSubstr("name=\"accuracy\">\n      <failure message=\"3 of 100 checks failed\">case 5: P=33"));
  EXPECT_THAT(xml, HasSubstr("\nlsecheck repro lse1-shrunk5\nlsecheck repro failures/case5.safetensors\n"));
  EXPECT_EQ(occurrences(xml, "<testcase"), occurrences(xml, "</testcase>") + occurrences(xml, "\"/>\n"));
  EXPECT_EQ(xml, junit_report(sample_run(100)));
}

TEST(JunitReportTest, ALawThatWasNeverCheckedIsSkipped) {
  StoredRun run = sample_run(1);
  run.results.laws = {{{"k", "twin"}, {0, 7, 0}}};
  EXPECT_THAT(junit_report(run), HasSubstr("skipped=\"1\">\n    <testcase classname=\"lsecheck.k\" name=\"twin\">"
                                           "<skipped/></testcase>"));
}

TEST(JunitReportTest, WaivedFailuresAreSkippedAndBadWaiversFail) {
  StoredRun run = sample_run(100);
  run.waivers.waived = {{{"fa4_splitk_combine", "accuracy"}, 3}};
  run.waivers.problems = {"w.txt line 4: held until 2026-11-01"};
  const std::string xml = junit_report(run);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"fa4_splitk_combine\" tests=\"2\" failures=\"0\" errors=\"0\" "
                             "skipped=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"waivers\" tests=\"1\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"w.txt line 4: held until 2026-11-01\">"));
  run.waivers.waived.begin()->second = 2;
  EXPECT_THAT(junit_report(run), HasSubstr("tests=\"2\" failures=\"1\""));
}

TEST(JunitReportTest, OldFailuresAreASuite) {
  StoredRun run = sample_run(1);
  run.results.replays = {{"a.st", {"a.st", kOldFailure, "k", "accuracy", "fails", "a.st", "row 0\nmore"}},
                         {"b.st", {"b.st", kOldFailure, "k", "accuracy", "holds", "b.st", ""}},
                         {"c.st", {"c.st", kOldFailure, "", "", "unreadable", "c.st", "c.st: cut"}},
                         {"d.st", {"d.st", kOldFailure, "k", "twin", "not applicable", "d.st", "no device"}},
                         {"input", {"input", kCorpusInput, "k", "accuracy", "fails", "n/corpus-input.st", "row 0"}}};
  const std::string xml = junit_report(run);
  EXPECT_THAT(xml, HasSubstr("name=\"replayed old failures\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"fails: row 0\">k law accuracy\nrow 0\nmore\nlsecheck repro a.st\n"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"unreadable: c.st: cut\">"));
  EXPECT_THAT(xml, HasSubstr("name=\"replayed corpus inputs\" tests=\"1\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("row 0\nlsecheck repro n/corpus-input.st\n"));
  EXPECT_THAT(xml, HasSubstr("lsecheck: FAILED 3"));
}

TEST(JunitReportTest, ManyFailuresOfALawAreCounted) {
  StoredRun run = sample_run(0);
  for (std::uint64_t i = 0; i < 50; ++i) run.results.failures.push_back(sample_failure(i));
  run.results.laws[{"fa4_splitk_combine", "accuracy"}] = {50, 0, 50};
  const std::string xml = junit_report(run);
  EXPECT_EQ(occurrences(xml, "lsecheck repro lse1-"), kJunitFailuresShown);
  EXPECT_THAT(xml, HasSubstr("30 more failures"));
}

TEST(JunitReportTest, AnyTextBecomesWellFormedXml) {
  StoredRun run = sample_run(0);
  const std::string hostile = "<a href=\"x\">&\x01\xff\xc3\xa9\xef\xbf\xbf\xed\xa0\x80\xc0\xaf\xf0\x9f\x98\x80\xc3";
  run.results.laws[{hostile, hostile}] = {1, 0, 1};
  run.results.failures = {{1, hostile, hostile, "t", "t", "", hostile, hostile}};
  const std::string xml = junit_report(run);
  EXPECT_THAT(xml, Not(HasSubstr("<a ")));
  EXPECT_THAT(xml, HasSubstr("&lt;a href=&quot;x&quot;&gt;&amp;??\xc3\xa9??????"));
  EXPECT_THAT(xml, HasSubstr("\xf0\x9f\x98\x80?"));
}

}  // namespace
}  // namespace lsecheck
