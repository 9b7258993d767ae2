#include "reports/json_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "properties/whole_file.h"
#include "reports/sample_run.h"
#include "reports/store_error_matcher.h"

namespace lsecheck {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(JsonReportTest, RoundTripIsTheIdentityOnBytes) {
  for (const std::uint64_t cases : {0u, 1u, 100u}) {
    StoredRun run = sample_run(cases);
    run.finished = cases != 1;
    const std::string text = results_text(run);
    const StoredRun back = parse_results(text, "run.json");
    EXPECT_EQ(results_text(back), text);
    EXPECT_EQ(back.context, run.context);
    EXPECT_EQ(back.finished, run.finished);
    EXPECT_EQ(back.next_case_index, cases);
    EXPECT_EQ(back.results.failures, run.results.failures);
  }
}

TEST(JsonReportTest, DoublesKeepTheirBitsAndInfinityIsAString) {
  StoredRun run = sample_run(1);
  StatRow& row = run.results.stats.begin()->second;
  for (const double value : {0.1, 1.0 / 3, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 5e-324, 1.7976931348623157e308}) {
    row.ulp.max.value = value;
    EXPECT_EQ(parse_results(results_text(run), "x").results.stats.begin()->second.ulp.max.value, value);
  }
  row.ulp.max.value = std::numeric_limits<double>::infinity();
  const std::string text = results_text(run);
  EXPECT_NE(text.find("\"ulp\":{\"largest_seen\":{\"value\":\"inf\""), std::string::npos);
  EXPECT_EQ(parse_results(text, "x").results.stats.begin()->second.ulp.max.value, row.ulp.max.value);
  row.ulp.max = Maximum{};
  EXPECT_LT(parse_results(results_text(run), "x").results.stats.begin()->second.ulp.max.value, 0);
}

TEST(JsonReportTest, HasTheDocumentedShape) {
  const StoredRun run = sample_run(100);
  const auto json = nlohmann::ordered_json::parse(results_text(run));
  std::vector<std::string> keys;
  for (const auto& member : json.items()) keys.push_back(member.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "context", "progress", "summary", "kernels", "laws", "coverage",
                                            "charts", "failures", "replays", "hunts"}));
  EXPECT_EQ(json["schema"], "lsecheck.results/3");
  EXPECT_EQ(json["context"]["seed"], 0xfedcba9876543210u);
  EXPECT_EQ(json["summary"]["cases"], 100);
  EXPECT_EQ(json["summary"]["failures"], run.results.failures.size());
  EXPECT_EQ(json["kernels"].size(), run.results.stats.size());
  EXPECT_EQ(results_text(run.context, run.results), results_text(run));
}

TEST(JsonReportTest, SchemaOneIsReadWithWhatItLacks) {
  auto json = nlohmann::ordered_json::parse(results_text(sample_run(100)));
  json["schema"] = "lsecheck.results/1";
  for (const char* member : {"charts", "replays", "hunts"}) json.erase(member);
  for (const char* field : {"shard", "hunt_evaluations"}) json["context"].erase(field);
  RunContext context = sample_context();
  context.hunt_evaluations = 0;
  EXPECT_EQ(parse_results(json.dump(), "x").context, context);
  json["context"].erase("reference");
  const StoredRun run = parse_results(json.dump(), "x");
  EXPECT_EQ(run.context.reference, "exact");
  EXPECT_EQ(run.results.totals.cases, 100u);
  EXPECT_TRUE(run.results.charts.empty());
  json["context"].erase("seed");
  expect_store_error(store_error_of([&] { parse_results(json.dump(), "x"); }), StoreError::Kind::unreadable,
                     {"context.seed is missing"});
}

// What lsecheck wrote before hunts: kept in the tree as it was written.
TEST(JsonReportTest, SchemaTwoIsReadWithWhatItLacks) {
  const std::string path = LSECHECK_SOURCE_DIR "/reports/testdata/schema2.json";
  const StoredRun run = parse_results(read_whole_text(path), path);
  EXPECT_EQ(run.context.hunt_evaluations, 0u);
  EXPECT_EQ(run.results.totals.cases, 3u);
  EXPECT_FALSE(run.results.charts.empty());
  EXPECT_TRUE(run.results.hunts.empty());
  ASSERT_EQ(run.results.replays.size(), 2u);
  for (const auto& [file, replay] : run.results.replays) {
    EXPECT_EQ(replay.origin, kOldFailure);
    EXPECT_EQ(replay.case_file, file);
  }
}

TEST(JsonReportTest, AHuntThatSawNothingOrAnythingReadsBack) {
  StoredRun run = sample_run(0);
  run.results.hunts[{"k", "f32", "f32", "log2", "sm_100a", "narrow", 2}] = {4096, -1, ""};
  run.results.hunts[{"k", "f32", "f32", "log2", "sm_100a", "narrow", 3}] = {0, INFINITY, ""};
  const StoredRun back = parse_results(results_text(run), "x");
  EXPECT_EQ(back.results.hunts.begin()->second.bound_use, -1);
  EXPECT_EQ(back.results.hunts.rbegin()->second.bound_use, INFINITY);
  EXPECT_EQ(results_text(back), results_text(run));
}

TEST(JsonReportTest, TextThatIsNotUtf8DoesNotBreakTheFile) {
  StoredRun run = sample_run(100);
  run.results.failures.front().message = "\xff\xfe broken";
  EXPECT_NO_THROW(parse_results(results_text(run), "x"));
}

TEST(JsonReportTest, RefusesWithThePlaceOfTheFault) {
  const std::string text = results_text(sample_run(100));
  struct Fault {
    const char* what;
    const char* with;
    const char* message;
  };
  const Fault faults[] = {
      {"lsecheck.results/3", "lsecheck.results/9", "has schema \"lsecheck.results/9\""},
      {"\"seed\"", "\"sead\"", "context.seed is missing"},
      {"\"seed\":", "\"extra\":1,\"seed\":", "context.extra is unknown"},
      {"\"seed\":", "\"seed\":1,\"seed\":", "seed appears twice"},
      {"\"finished\":true", "\"finished\":1", "progress.finished is neither true nor false"},
      {"\"next_case_index\":100", "\"next_case_index\":-1", "progress.next_case_index is not a non-negative integer"},
      {"\"next_case_index\":100", "\"next_case_index\":1e2", "progress.next_case_index is not a non-negative integer"},
      {"\"cases\":100", "\"cases\":\"100\"", "summary.cases is not a non-negative integer"},
      {"\"generator_version\":3", "\"generator_version\":4294967296", "context.generator_version is out of range"},
      {"\"digest\":\"0x", "\"digest\":\"", "kernels[0].digest is not 0x and 16 hexadecimal digits"},
      {"\"got_bits\":\"0x0", "\"got_bits\":\"0xg", "kernels[0].ulp.largest_seen.got_bits is not 0x and 8"},
      {"\"largest_seen\":{\"value\":", "\"largest_seen\":{\"value\":-",
       "kernels[0].ulp.largest_seen.value is negative"},
      {"\"largest_seen\":{\"value\":", "\"largest_seen\":{\"value\":1e999, \"x\":", "a number out of range"},
      {"\"histogram\":[[", "\"histogram\":[[99,1],[", "kernels[0].ulp.histogram has bins out of order or out of range"},
      {"\"histogram\":[[", "\"histogram\":[[1,0],[", "kernels[0].ulp.histogram lists an empty bin"},
      {"\"histogram\":[[", "\"histogram\":[[1],[", "kernels[0].ulp.histogram holds something else"},
      {"\"laws\": [", "\"laws\": [3,", "laws[0] is not an object"},
      {"\"failures\": [", "\"failures\": [null,", "failures[0] is not an object"},
      {"\"context\": {", "\"context\": {,", "is not JSON at byte"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.message);
    const std::string faulty = replaced(text, fault.what, fault.with);
    expect_store_error(store_error_of([&] { parse_results(faulty, "run.json"); }), StoreError::Kind::unreadable,
                       {"cannot read run.json: ", fault.message, "--json"});
  }
}

TEST(JsonReportTest, RepeatedAndUnorderedRowsAreRefused) {
  const std::string text = results_text(sample_run(100));
  auto json = nlohmann::ordered_json::parse(text);
  json["laws"].push_back(json["laws"][0]);
  expect_store_error(store_error_of([&] { parse_results(json.dump(), "x"); }), StoreError::Kind::unreadable,
                     {"laws[2] repeats an earlier row"});
  json = nlohmann::ordered_json::parse(text);
  std::swap(json["failures"][0], json["failures"][1]);
  expect_store_error(store_error_of([&] { parse_results(json.dump(), "x"); }), StoreError::Kind::unreadable,
                     {"failures[1] is out of order"});
}

TEST(JsonReportTest, EveryTruncationIsRefused) {
  const std::string text = results_text(sample_run(3));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    const auto error = store_error_of([&] { parse_results(text.substr(0, length), "run.json"); });
    ASSERT_TRUE(error.has_value()) << length;
    EXPECT_EQ(error->kind(), StoreError::Kind::unreadable);
  }
}

}  // namespace
}  // namespace lsecheck
