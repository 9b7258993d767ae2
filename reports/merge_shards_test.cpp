#include "reports/merge_shards.h"

#include <gtest/gtest.h>

#include "properties/shard.h"
#include "reports/json_report.h"
#include "reports/sample_run.h"
#include "reports/store_error_matcher.h"

namespace lsecheck {
namespace {

constexpr auto kUnreadable = StoreError::Kind::unreadable;
constexpr std::uint64_t kCases = 300;

RunContext context_of_300() {
  RunContext context = sample_context();
  context.cases_requested = kCases;
  return context;
}

// What the runner stores of one shard when it stops after `batches` of its batches.
NamedRun shard_run(const Shard& shard, std::uint64_t batches = kCases) {
  StoredRun run{context_of_300(), {}, next_case_of(shard, 0, kCases), false};
  run.context.shard = format_shard(shard);
  while (run.next_case_index < kCases && batches-- > 0) {
    const std::uint64_t end = std::min(run.next_case_index + kBatchCases, kCases);
    run.results.merge(sample_batch(run.next_case_index, end));
    run.next_case_index = next_case_of(shard, end, kCases);
  }
  run.finished = run.next_case_index == kCases;
  return {"shard" + std::to_string(shard.index) + ".db", run};
}

std::vector<NamedRun> all_shards(std::uint32_t count) {
  std::vector<NamedRun> shards;
  for (std::uint32_t i = 0; i < count; ++i) shards.push_back(shard_run({i, count}));
  return shards;
}

TEST(MergeShardsTest, GivesTheBytesOfTheUndividedRun) {
  const std::string whole = results_text(StoredRun{context_of_300(), sample_batch(0, kCases), kCases, true});
  for (const std::uint32_t count : {1u, 2u, 3u, 5u, 7u}) {
    std::vector<NamedRun> shards = all_shards(count);
    EXPECT_EQ(results_text(merge_shards(shards)), whole) << count;
    std::reverse(shards.begin(), shards.end());
    EXPECT_EQ(results_text(merge_shards(shards)), whole) << count << " in reverse";
  }
}

TEST(MergeShardsTest, AnUnfinishedShardLeavesTheMergeUnfinished) {
  std::vector<NamedRun> shards = all_shards(2);
  shards[1] = shard_run({1, 2}, 1);
  const StoredRun merged = merge_shards(shards);
  EXPECT_FALSE(merged.finished);
  EXPECT_EQ(merged.next_case_index, 3 * kBatchCases);
  EXPECT_EQ(merged.results.totals.cases, kCases - kBatchCases);
}

TEST(MergeShardsTest, MissingAndRepeatedShardsAreNamed) {
  std::vector<NamedRun> shards = all_shards(12);
  shards.erase(shards.begin() + 2);
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable,
                     {"cannot merge: missing: shard 3/12; give the files of all 12"});
  shards.resize(2);
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable, {"shard 3/12, 4/12", "and 2 more"});
  shards.push_back(shard_run({1, 12}));
  shards.back().name = "again.db";
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable,
                     {"shard1.db and again.db are both shard 2/12; give each shard once"});
  expect_store_error(store_error_of([] { merge_shards({}); }), kUnreadable, {"no shards"});
}

TEST(MergeShardsTest, RunsOfOtherOptionsOrDivisionsAreRefused) {
  std::vector<NamedRun> shards = all_shards(2);
  shards[1].run.context.seed = 5;
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable,
                     {"shard0.db has seed '18364758544493064720', shard1.db has '5'", "same options"});
  shards = {shard_run({0, 2}), shard_run({1, 3})};
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable, {"has shard '1/2'", "has '2/3'"});
  shards.back().run.context.shard = "2of3";
  expect_store_error(store_error_of([&] { merge_shards(shards); }), kUnreadable, {"'2of3', which is not i/n"});
}

}  // namespace
}  // namespace lsecheck
