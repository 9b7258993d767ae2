#include "reports/night_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html_report.h"
#include "reports/markdown_report.h"
#include "reports/sample_run.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

StoredRun clean_run(std::uint64_t seed) {
  StoredRun run = sample_run(0);
  run.context.seed = seed;
  run.results.merge(sample_case(1));
  run.results.failures.clear();
  run.results.totals.failures = 0;
  run.results.laws = {{{"fa4_splitk_combine", "accuracy"}, {10, 0, 0}}};
  run.results.replays.clear();
  run.finished = true;
  return run;
}

StoredRun red_run(std::uint64_t seed) {
  StoredRun run = clean_run(seed);
  run.results.failures = {sample_failure(5), sample_failure(6)};
  run.results.laws[{"fa4_splitk_combine", "accuracy"}].failed = 7;
  run.results.totals.failures = 7;
  return run;
}

std::vector<Night> week() {
  std::vector<Night> nights;
  for (std::uint64_t day = 20261124; day <= 20261130; ++day) {
    const StoredRun run = day == 20261127 ? red_run(day) : clean_run(day);
    nights.push_back(night_of(run, std::to_string(day) + "/run.db"));
  }
  return nights;
}

TEST(NightHistoryTest, TheRedNightIsNamedWithKernelLawAndReplay) {
  const std::vector<Night> nights = week();
  EXPECT_EQ(nights_verdict(nights), "1 of 7 nights failed: seed 20261127");
  const Night& red = nights[3];
  EXPECT_TRUE(red.failed);
  ASSERT_EQ(red.failures.size(), 1u);
  const auto& [key, failure] = *red.failures.begin();
  EXPECT_EQ(key, std::pair(std::string("fa4_splitk_combine"), std::string("accuracy")));
  EXPECT_EQ(failure.count, 7u);
  EXPECT_EQ(failure.repro, "lsecheck repro lse1-shrunk5");
  EXPECT_FALSE(nights[2].failed);
  EXPECT_TRUE(nights[2].failures.empty());
}

TEST(NightHistoryTest, ACleanPageLeadsToTheRedNight) {
  const std::string page = html_report(clean_run(20261130), {}, week());
  std::size_t at = 0;
  for (const char* part : {"CLEAN", "1 of 7 nights failed: seed 20261127", "<h2>Nights</h2>", "20261130/run.db",
                           "20261127/run.db", "FAILED 7", "fa4_splitk_combine: law accuracy", "7 cases",
                           "lsecheck repro lse1-shrunk5", "20261124/run.db", "<figure>", "<h2>Accuracy</h2>"}) {
    const std::size_t found = page.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  const std::string markdown = markdown_report(clean_run(20261130), {}, week());
  EXPECT_THAT(markdown, HasSubstr("1 of 7 nights failed: seed 20261127"));
  EXPECT_THAT(markdown, HasSubstr("lsecheck repro lse1-shrunk5"));
}

TEST(NightHistoryTest, OneNightIsNoHistory) {
  EXPECT_EQ(nights_verdict({night_of(red_run(1), "a.db")}), "");
  EXPECT_THAT(html_report(red_run(1), {}, {night_of(red_run(1), "a.db")}), Not(HasSubstr("<h2>Nights</h2>")));
  EXPECT_THAT(markdown_report(red_run(1), {}, {}), Not(HasSubstr("## Nights")));
}

}  // namespace
}  // namespace lsecheck
