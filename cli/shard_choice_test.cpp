#include "cli/shard_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <map>

namespace lsecheck::cli {
namespace {

ShardChoice choose(const std::string& option, const std::map<std::string, std::string>& variables) {
  return choose_shard(option, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const std::string& option, const std::map<std::string, std::string>& variables) {
  try {
    choose(option, variables);
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ShardChoiceTest, NothingSetIsTheWholeRun) {
  const ShardChoice choice = choose("", {{"SLURM_JOB_ID", "7"}, {"JOB_COMPLETIONS", "3"}});
  EXPECT_EQ(choice.shard, Shard{});
  EXPECT_EQ(choice.source, "");
}

TEST(ShardChoiceTest, TheOptionWins) {
  const ShardChoice choice = choose("3/4", {{"GTEST_SHARD_INDEX", "junk"}});
  EXPECT_EQ(choice.shard, (Shard{2, 4}));
  EXPECT_EQ(choice.source, "--shard");
  EXPECT_THAT(refusal("0/4", {}), testing::HasSubstr("'0/4' is not i/n"));
}

TEST(ShardChoiceTest, SchedulersAreRead) {
  EXPECT_EQ(choose("", {{"GTEST_SHARD_INDEX", "3"}, {"GTEST_TOTAL_SHARDS", "4"}}).shard, (Shard{3, 4}));
  EXPECT_EQ(choose("", {{"JOB_COMPLETION_INDEX", "0"}, {"JOB_COMPLETIONS", "5"}}).shard, (Shard{0, 5}));
  EXPECT_EQ(choose("", {{"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_COUNT", "2"}}).shard, (Shard{0, 2}));
  const ShardChoice slurm = choose("", {{"SLURM_ARRAY_TASK_ID", "14"},
                                        {"SLURM_ARRAY_TASK_COUNT", "4"},
                                        {"SLURM_ARRAY_TASK_MIN", "10"},
                                        {"SLURM_ARRAY_TASK_STEP", "2"}});
  EXPECT_EQ(slurm.shard, (Shard{2, 4}));
  EXPECT_EQ(slurm.source, "SLURM_ARRAY_TASK_ID");
}

TEST(ShardChoiceTest, HalfAndContradictingSettingsAreRefused) {
  EXPECT_THAT(refusal("", {{"JOB_COMPLETION_INDEX", "2"}}),
              testing::HasSubstr("JOB_COMPLETION_INDEX is set but JOB_COMPLETIONS is not; give --shard i/n"));
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "4"}, {"GTEST_TOTAL_SHARDS", "4"}}),
              testing::HasSubstr("GTEST_SHARD_INDEX=4 is not one of 4 tasks from 0"));
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "-1"}, {"GTEST_TOTAL_SHARDS", "4"}}),
              testing::HasSubstr("GTEST_SHARD_INDEX is '-1'"));
  EXPECT_THAT(
      refusal("", {{"SLURM_ARRAY_TASK_ID", "6"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "1"}}),
      testing::HasSubstr("SLURM_ARRAY_TASK_ID=6 is not one of 3 tasks from 1"));
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "1"},
                           {"GTEST_TOTAL_SHARDS", "4"},
                           {"JOB_COMPLETION_INDEX", "2"},
                           {"JOB_COMPLETIONS", "4"}}),
              testing::HasSubstr("GTEST_SHARD_INDEX says 2/4, JOB_COMPLETION_INDEX says 3/4"));
}

}  // namespace
}  // namespace lsecheck::cli
