#include "reports/mutants_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/store_error.h"

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

TEST(MutantsReport, TheScoreNamesWhatWasNotTried) {
  EXPECT_EQ(mutant_score(sample()), "1 of 3 planted bugs killed; 1 DOES NOT APPLY");
  MutantsReport all = sample();
  all.mutants.resize(1);
  EXPECT_EQ(mutant_score(all), "1 of 1 planted bugs killed");
}

TEST(MutantsReport, WhatWasWrittenIsReadBack) {
  const std::string text = mutants_json(sample());
  const MutantsReport back = parse_mutants(text, "m.json");
  EXPECT_EQ(mutants_json(back), text);
  EXPECT_EQ(mutants_markdown(back), mutants_markdown(sample()));
}

TEST(MutantsReport, WhatIsBrokenIsNamed) {
  const std::string text = mutants_json(sample());
  const auto broken = [&](const std::string& what, const std::string& with) {
    std::string other = text;
    other.replace(other.find(what), what.size(), with);
    return other;
  };
  const auto refusal = [](const std::string& content) -> std::string {
    try {
      parse_mutants(content, "m.json");
    } catch (const StoreError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(broken("\"outcome\": \"killed\"", "\"outcome\": \"dead\"")),
            "cannot read m.json: mutants[0].outcome is no outcome of a mutant; give a file that lsecheck mutants wrote "
            "with --json");
  EXPECT_THAT(refusal(broken("mutants/1", "results/2")), HasSubstr("has schema \"lsecheck.results/2\""));
  EXPECT_THAT(refusal(broken("\"cases\": 2560", "\"cases\": -1")), HasSubstr("cases is not a non-negative integer"));
  EXPECT_THAT(refusal(broken("\"twice_cast\": 9", "\"thrice\": 9")), HasSubstr("false_alarms.twice_cast is missing"));
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("is not JSON at byte"));
}

}  // namespace
}  // namespace lsecheck
