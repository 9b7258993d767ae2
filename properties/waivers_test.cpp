#include "properties/waivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/case_draw.h"
#include "properties/runner.h"
#include "properties/token.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kText =
    "lsecheck waivers 1\n"
    "# a comment, and an empty line\n"
    "\n"
    "  fa4_splitk_combine accuracy narrow 2027-01-31  the last slot, issue 12 \n"
    "mla_combine negation ties 2026-12-01 another";

std::string complaint(const std::string& text) {
  try {
    parse_waivers(text, "w.txt");
  } catch (const FileError& error) {
    return error.what();
  }
  return "accepted";
}

Failure failure_of(KernelId kernel, const std::string& law, LseRegime regime) {
  CaseSpec spec;
  spec.kernel = kernel;
  spec.lse = regime;
  Failure failure;
  failure.kernel = name_of(kernel);
  failure.law = law;
  failure.found_token = format_token({0, spec});
  failure.shape = "P=2 lse:attention values:normal";
  return failure;
}

TEST(Waivers, AreReadByLine) {
  const auto waivers = parse_waivers(kText, "w.txt");
  ASSERT_EQ(waivers.size(), 2U);
  EXPECT_EQ(waivers[0].place, "w.txt line 4");
  EXPECT_EQ(waivers[0].kernel, "fa4_splitk_combine");
  EXPECT_EQ(waivers[0].law, "accuracy");
  EXPECT_EQ(waivers[0].regime, "narrow");
  EXPECT_EQ(waivers[0].until, "2027-01-31");
  EXPECT_EQ(waivers[0].reason, "the last slot, issue 12");
  EXPECT_EQ(waivers[1].place, "w.txt line 5");
}

TEST(Waivers, ComplaintsNameTheLine) {
  const std::string head = "lsecheck waivers 1\n";
  EXPECT_THAT(complaint(""), "accepted");
  EXPECT_THAT(complaint("waivers\n"), HasSubstr("w.txt line 1: is not 'lsecheck waivers 1'"));
  EXPECT_THAT(complaint(head + "fa5 accuracy narrow 2027-01-31 why"),
              HasSubstr("w.txt line 2: no kernel is named 'fa5'"));
  EXPECT_THAT(complaint(head + "mla_combine speed narrow 2027-01-31 why"), HasSubstr("no law is named 'speed'"));
  EXPECT_THAT(complaint(head + "mla_combine accuracy wide 2027-01-31 why"), HasSubstr("no LSE regime is named 'wide'"));
  EXPECT_THAT(complaint(head + "mla_combine accuracy narrow 2027-02-29 why"), HasSubstr("'2027-02-29' is no day"));
  EXPECT_THAT(complaint(head + "mla_combine accuracy narrow soon why"), HasSubstr("write YYYY-MM-DD"));
  EXPECT_THAT(complaint(head + "mla_combine accuracy narrow"), HasSubstr("'' is no day"));
  EXPECT_THAT(complaint(head + "mla_combine accuracy narrow 2027-01-31  "), HasSubstr("a reason must follow"));
  const std::string line = "mla_combine accuracy narrow 2027-01-31 why\n";
  EXPECT_THAT(complaint(head + line + line), HasSubstr("w.txt line 3: waives the same as w.txt line 2"));
}

TEST(Waivers, CoverAFailureByTheCaseAsDrawnUntilTheirDay) {
  const auto waivers = parse_waivers(kText, "w.txt");
  const Failure known = failure_of(KernelId::fa4_splitk_combine, "accuracy", LseRegime::narrow);
  EXPECT_EQ(regime_of(known), "narrow") << "the token goes before the shape of the shrunk case";
  EXPECT_TRUE(is_waived(waivers, known, "2026-11-30"));
  EXPECT_TRUE(is_waived(waivers, known, "2027-01-31"));
  EXPECT_FALSE(is_waived(waivers, known, "2027-02-01"));
  EXPECT_FALSE(is_waived(waivers, failure_of(KernelId::fa4_splitk_combine, "accuracy", LseRegime::ties), "2026-11-30"));
  EXPECT_FALSE(
      is_waived(waivers, failure_of(KernelId::fa4_splitk_combine, "negation", LseRegime::narrow), "2026-11-30"));
  EXPECT_FALSE(
      is_waived(waivers, failure_of(KernelId::mha_splitk_reduce, "accuracy", LseRegime::narrow), "2026-11-30"));
  Failure replayed = known;
  replayed.found_token = "failures/worst-3.safetensors";
  EXPECT_EQ(regime_of(replayed), "attention");
  replayed.shape = "";
  EXPECT_EQ(regime_of(replayed), "");
}

// A run of two kernels in which one waived failure still fails and the other is gone.
RunResults results_with(const std::vector<Failure>& failures) {
  RunResults results;
  results.failures = failures;
  results.laws[{"fa4_splitk_combine", "accuracy"}] = {10, 0, failures.size()};
  results.laws[{"mla_combine", "negation"}] = {10, 0, 0};
  results.coverage["fa4_splitk_combine lse:narrow"] = 3;
  results.coverage["mla_combine lse:ties"] = 3;
  return results;
}

TEST(Waivers, OneThatExpiredOrFailsNoMoreIsAProblem) {
  const auto waivers = parse_waivers(kText, "w.txt");
  const RunResults failing = results_with({failure_of(KernelId::fa4_splitk_combine, "accuracy", LseRegime::narrow),
                                           failure_of(KernelId::fa4_splitk_combine, "accuracy", LseRegime::ties)});
  const WaiverJudgement now = judge_waivers(waivers, failing, "2026-11-30", true);
  EXPECT_EQ(now.waived_failures(), 1U);
  EXPECT_EQ(now.waived.at({"fa4_splitk_combine", "accuracy"}), 1U);
  EXPECT_THAT(now.problems, ElementsAre(HasSubstr("w.txt line 5: mla_combine negation ties: fails no more; remove")));
  EXPECT_THAT(judge_waivers(waivers, failing, "2026-11-30", false).problems, IsEmpty())
      << "a part of a run cannot tell";
  const WaiverJudgement late = judge_waivers(waivers, failing, "2027-02-01", false);
  EXPECT_EQ(late.waived_failures(), 0U);
  EXPECT_THAT(late.problems, ElementsAre(HasSubstr("w.txt line 4: fa4_splitk_combine accuracy narrow: held until "
                                                   "2027-01-31; mend the failure or give a later day (the last slot"),
                                         HasSubstr("w.txt line 5")));
  RunResults elsewhere = failing;
  elsewhere.coverage.erase("mla_combine lse:ties");
  EXPECT_THAT(judge_waivers(waivers, elsewhere, "2026-11-30", true).problems, IsEmpty()) << "not looked at";
  elsewhere = failing;
  elsewhere.laws.erase({"mla_combine", "negation"});
  EXPECT_THAT(judge_waivers(waivers, elsewhere, "2026-11-30", true).problems, IsEmpty());
}

}  // namespace
}  // namespace lsecheck
