#include "properties/shard.h"

#include <gtest/gtest.h>

#include <vector>

namespace lsecheck {
namespace {

TEST(ShardTest, TextCountsFromOneAndIsStrict) {
  for (const Shard shard : {Shard{0, 1}, Shard{0, 8}, Shard{7, 8}, Shard{999'999, 1'000'000}}) {
    EXPECT_EQ(parse_shard(format_shard(shard)), shard);
  }
  EXPECT_EQ(format_shard({2, 8}), "3/8");
  for (const char* text : {"", "/", "1", "1/", "/2", "0/2", "3/2", "1/0", "-1/2", "+1/2", " 1/2", "1/2 ", "1/2/3",
                           "1/1000001", "99999999999/99999999999"}) {
    EXPECT_FALSE(parse_shard(text)) << text;
  }
}

// Walks every shard as the runner does.
TEST(ShardTest, TheShardsOfASequenceHoldEveryCaseOnce) {
  for (const std::uint64_t cases : {0u, 1u, 63u, 64u, 65u, 128u, 640u, 1000u}) {
    for (std::uint32_t count = 1; count <= 12; ++count) {
      std::vector<int> seen(cases, 0);
      for (std::uint32_t index = 0; index < count; ++index) {
        const Shard shard{index, count};
        for (std::uint64_t next = next_case_of(shard, 0, cases); next < cases;) {
          EXPECT_EQ(next % kBatchCases, 0u);
          const std::uint64_t end = std::min(next + kBatchCases, cases);
          for (std::uint64_t i = next; i < end; ++i) ++seen[i];
          next = next_case_of(shard, end, cases);
        }
      }
      EXPECT_EQ(seen, std::vector<int>(cases, 1)) << count << " shards of " << cases;
    }
  }
}

}  // namespace
}  // namespace lsecheck
