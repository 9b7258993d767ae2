#include "reports/mutants_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

MutantsReport sample() {
  MutantsReport report;
  report.profile = "smoke";
  report.cases = 2560;
  report.false_alarms = {0, 7, 0, 0, 9};
  MutantResult killed;
  killed.patch = {"x/one.patch", "one", 3, "a | b", "always", "somewhere"};
  killed.outcome = MutantOutcome::killed;
  killed.killed_by = "accuracy";
  killed.cases = 5;
  killed.cases_run = 64;
  killed.seconds = 1.25;
  killed.flagged = {0, 3, 0, 0, 2};
  report.mutants.push_back(killed);
  MutantResult stale;
  stale.patch.name = "two";
  stale.outcome = MutantOutcome::does_not_apply;
  stale.detail = "patch: exit code 1";
  report.mutants.push_back(stale);
  MutantResult survivor;
  survivor.patch.name = "three";
  survivor.cases = survivor.cases_run = 20000;
  report.mutants.push_back(survivor);
  return report;
}

TEST(MutantsReport, MarkdownTellsTheLawTheCasesAndTheDetectors) {
  const std::string text = mutants_markdown(sample());
  EXPECT_THAT(text, HasSubstr("3 mutants: 1 killed, 1 survived, 0 would not build, 1 do not apply."));
  EXPECT_THAT(
      text,
      HasSubstr("| one | 3 a / b | killed | accuracy | 5 | 1.2 | missed | 3 of 64 | missed | missed | 2 of 64 |"));
  EXPECT_THAT(text, HasSubstr("| two | - | DOES NOT APPLY | patch: exit code 1 |"));
  EXPECT_THAT(text, HasSubstr("| three | - | SURVIVED | - | 20000 |"));
  EXPECT_THAT(text, HasSubstr("| none (false alarms) | | | | 2560 | | 0 | 7 | 0 | 0 | 9 |"));
}

TEST(MutantsReport, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(mutants_json(sample()));
  EXPECT_EQ(json["schema"], "lsecheck.mutants/1");
  EXPECT_EQ(json["false_alarms"]["assert_close_f32"], 7);
  EXPECT_EQ(json["mutants"][0]["killed_by"], "accuracy");
  EXPECT_EQ(json["mutants"][0]["class_number"], 3);
  EXPECT_EQ(json["mutants"][0]["flagged"]["twice_cast"], 2);
  EXPECT_EQ(json["mutants"][2]["outcome"], "SURVIVED");
}

}  // namespace
}  // namespace lsecheck
