#include "properties/results_wire.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "properties/runner.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

RunResults some_results() {
  const auto reference = make_certified_reference();
  const std::vector<const Law*> laws = matching_laws("*");
  RunResults results;
  for (std::uint64_t i = 0; i < 8; ++i) results.merge(evaluate_case(draw_spec(1, i, {}), i, laws, *reference));
  results.failures.push_back({5, "kernel", "law", "token", "found", "file", "shape", "message\nof two lines"});
  results.replays["file"] = {"file", kCorpusInput, "kernel", "law", "fails", "case file", "why"};
  results.hunts[{"kernel", "f32", "bf16", "log2", "sm_100a", "narrow", 37}] = {4096, 0.5, "worst"};
  return results;
}

TEST(ResultsWire, ReadsBackToTheSameBytesAndContent) {
  const RunResults results = some_results();
  const std::string bytes = to_wire(results);
  const RunResults again = results_from_wire(bytes);
  EXPECT_EQ(to_wire(again), bytes);
  EXPECT_EQ(again.failures, results.failures);
  EXPECT_EQ(again.replays, results.replays);
  ASSERT_TRUE(again.hunts.contains(results.hunts.begin()->first));
  EXPECT_EQ(again.hunts.begin()->second.evaluations, 4096u);
  EXPECT_EQ(again.hunts.begin()->second.bound_use, 0.5);
  EXPECT_EQ(again.hunts.begin()->second.worst, "worst");
  EXPECT_EQ(again.coverage, results.coverage);
  ASSERT_EQ(again.stats.size(), results.stats.size());
  for (const auto& [key, row] : results.stats) {
    const StatRow& other = again.stats.at(key);
    EXPECT_EQ(other.digest, row.digest);
    EXPECT_EQ(other.elements, row.elements);
    EXPECT_EQ(other.steps.max.value, row.steps.max.value);
    EXPECT_EQ(other.bound_use.max.token, row.bound_use.max.token);
    EXPECT_EQ(other.scaled_ulp.histogram.count, row.scaled_ulp.histogram.count);
  }
  EXPECT_EQ(failure_from_wire(to_wire(results.failures[0])), results.failures[0]);
}

TEST(ResultsWire, DamagedBytesAreRefused) {
  const std::string bytes = to_wire(some_results());
  EXPECT_THROW(results_from_wire(bytes + "x"), std::invalid_argument);
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_THROW(results_from_wire(std::string_view(bytes).substr(0, size)), std::invalid_argument) << size;
  }
}

}  // namespace
}  // namespace lsecheck
