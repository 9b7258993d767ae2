#include "kernels/dispatch/mla_dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace lsecheck {
namespace {

using ::testing::ElementsAre;

TEST(MlaDispatch, BucketsArePinned) {
  EXPECT_THAT(mla_split_buckets(148), ElementsAre(1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 72, 74));
  EXPECT_THAT(mla_split_buckets(160), ElementsAre(1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 72, 80));
  EXPECT_THAT(mla_split_buckets(132), ElementsAre(1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 66));
  for (const int sm_count : {132, 148, 160}) {
    const auto buckets = mla_split_buckets(sm_count);
    EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()));
    EXPECT_EQ(buckets.back(), sm_count / 2);
  }
}

TEST(MlaDispatch, CountsSnapUpAndStopAtTheTop) {
  EXPECT_EQ(mla_bucket_num_partitions(148, 0), 1);
  EXPECT_EQ(mla_bucket_num_partitions(148, 1), 1);
  EXPECT_EQ(mla_bucket_num_partitions(148, 5), 8);
  EXPECT_EQ(mla_bucket_num_partitions(148, 33), 37);
  EXPECT_EQ(mla_bucket_num_partitions(148, 38), 64);
  EXPECT_EQ(mla_bucket_num_partitions(148, 73), 74);
  EXPECT_EQ(mla_bucket_num_partitions(148, 75), 74);
  EXPECT_EQ(mla_bucket_num_partitions(160, 73), 80);
  EXPECT_EQ(mla_bucket_num_partitions(160, 100000), 80);
  EXPECT_EQ(mla_bucket_num_partitions(132, 65), 66);
  EXPECT_EQ(mla_bucket_num_partitions(132, 72), 66) << "never above half the SMs";
  for (const int sm_count : {132, 148, 160}) {
    for (const int bucket : mla_split_buckets(sm_count)) {
      EXPECT_EQ(mla_bucket_num_partitions(sm_count, bucket), bucket);
      EXPECT_EQ(require_mla_bucket(sm_count, bucket), bucket);
    }
  }
}

TEST(MlaDispatch, SplitsFillTheChipWithAtLeastFourPagesEach) {
  const auto choose = [](std::int64_t batch, std::int64_t q_len, std::int64_t heads, std::int64_t cache_len,
                         int min_partitions = 1) {
    return choose_mla_partitions({148, batch, q_len, heads, cache_len, min_partitions});
  };
  // One CTA: 148 wanted, capped at 74.
  EXPECT_EQ(choose(1, 1, 64, 1 << 20), 74);
  // Two: 74 whole waves fill the chip.
  EXPECT_EQ(choose(2, 1, 64, 1 << 20), 74);
  // 148 / 50 = 2 fills 100 of 148 SMs, less than 85 %: rounded up to 3.
  EXPECT_EQ(choose(50, 1, 64, 1 << 20), 3);
  // 148 / 45 = 3 fills 135 of 148, 91 %.
  EXPECT_EQ(choose(45, 1, 64, 1 << 20), 3);
  // Pages of 128: 8192 keys are 64 pages, 16 splits of four.
  EXPECT_EQ(choose(1, 1, 64, 8192), 16);
  EXPECT_EQ(choose(1, 1, 64, 8193), 16);
  // Short caches in large batches have pages of 64.
  EXPECT_EQ(choose(32, 1, 64, 512), 2);
  EXPECT_EQ(choose(31, 1, 64, 512), 1);
  // Nothing to split, unless two are asked for.
  EXPECT_EQ(choose(1, 1, 64, 0), 1);
  EXPECT_EQ(choose(1, 1, 64, 0, 2), 2);
  EXPECT_EQ(choose(1, 1, 64, 128, 2), 2);
  // Query positions that fit 64 rows share a CTA.
  EXPECT_EQ(mla_decode_ctas({148, 3, 4, 16, 0, 1}), 3);
  EXPECT_EQ(mla_decode_ctas({148, 3, 5, 16, 0, 1}), 15);
  EXPECT_EQ(mla_decode_ctas({148, 3, 1, 64, 0, 1}), 3);
}

TEST(MlaDispatch, EveryPolicyLandsOnABucket) {
  for (const int sm_count : {132, 148, 160}) {
    for (std::int64_t heads = 1; heads <= 64; heads += 7) {
      for (std::int64_t batch = 1; batch < 300; batch += 13) {
        for (std::int64_t cache_len = 0; cache_len < 200000; cache_len = 3 * cache_len + 97) {
          const int dense = choose_mla_partitions({sm_count, batch, 2, heads, cache_len, 1});
          EXPECT_TRUE(is_mla_bucket(sm_count, dense)) << dense;
          const int sparse = choose_mla_sparse_partitions(sm_count, batch, cache_len);
          EXPECT_TRUE(is_mla_bucket(sm_count, sparse)) << sparse;
        }
      }
    }
  }
}

TEST(MlaDispatch, SparseCostModelEdges) {
  // One wave whatever the count, so the most splits are cheapest until the fixed cost leaves less than 2 % to gain.
  EXPECT_EQ(choose_mla_sparse_partitions(148, 1, 0), 1);
  EXPECT_EQ(choose_mla_sparse_partitions(148, 1, 2048), 64);
  EXPECT_EQ(choose_mla_sparse_partitions(148, 148, 2048), 1);
  // Two waves of 187 + 256 cost more than one of 187 + 512.
  EXPECT_EQ(choose_mla_sparse_partitions(148, 148, 512), 1);
  EXPECT_EQ(choose_mla_sparse_partitions(148, 74, 2048), 2);
}

TEST(MlaDispatch, KernelChoice) {
  const auto choose = [](std::int64_t batch, std::int64_t q_len, std::int64_t heads, std::int64_t cache_len,
                         int num_partitions, bool fp8_kv = false) {
    return choose_mla_combine({148, batch, q_len, heads, cache_len, num_partitions, fp8_kv});
  };
  const auto warps = [](int warps_per_head) { return MlaCombineChoice{false, warps_per_head}; };
  EXPECT_TRUE(choose(1, 1, 128, 16384, 74).split_parallel);
  EXPECT_TRUE(choose(2, 1, 128, 1 << 20, 37).split_parallel);
  EXPECT_FALSE(choose(3, 1, 128, 1 << 20, 37).split_parallel);
  EXPECT_EQ(choose(1, 1, 128, 16383, 74), warps(8));
  // base = batch * q_len * 32 at 128 heads.
  EXPECT_EQ(choose(128, 1, 128, 1280, 4), warps(1));
  EXPECT_EQ(choose(128, 1, 128, 1281, 4), warps(4));
  EXPECT_EQ(choose(128, 1, 128, 1280, 4, true), warps(4));
  EXPECT_EQ(choose(127, 1, 128, 1280, 4), warps(4));
  EXPECT_EQ(choose(64, 1, 128, 1280, 8), warps(2));
  EXPECT_EQ(choose(32, 2, 128, 1280, 8), warps(2));
  EXPECT_EQ(choose(63, 1, 128, 1280, 8), warps(4));
  EXPECT_EQ(choose(128, 1, 128, 1280, 8), warps(2));
  EXPECT_EQ(choose(16, 1, 128, 1280, 8), warps(4));
  // Below 512 the heads alone decide: more than two waves of them.
  EXPECT_EQ(choose(15, 1, 16, 1280, 8), warps(8));
  EXPECT_EQ(choose(19, 1, 16, 1280, 8), warps(4)) << "304 heads > 296";
  EXPECT_EQ(choose(37, 1, 8, 1280, 8), warps(8)) << "296 heads";
}

std::string refusal(auto&& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MlaDispatch, BadInputIsRefusedByName) {
  EXPECT_EQ(refusal([] { mla_split_buckets(144); }), "sm_count 144 has no split buckets; use 132, 148 or 160");
  EXPECT_EQ(refusal([] { require_mla_bucket(148, 5); }),
            "num_partitions 5 has no MLA combine kernel on 148 SMs; use one of 1 2 3 4 8 9 16 18 20 32 37 64 72 74");
  EXPECT_EQ(refusal([] { require_mla_bucket(160, 74); }),
            "num_partitions 74 has no MLA combine kernel on 160 SMs; use one of 1 2 3 4 8 9 16 18 20 32 37 64 72 80");
  EXPECT_EQ(refusal([] { mla_bucket_num_partitions(148, -1); }), "wanted is -1; it must be at least 0");
  EXPECT_EQ(refusal([] { choose_mla_combine({148, 1, 1, 128, 0, 5, false}); }).substr(0, 16), "num_partitions 5");
  EXPECT_EQ(refusal([] { choose_mla_partitions({148, 0, 1, 64, 0, 1}); }), "batch is 0; it must be at least 1");
  EXPECT_EQ(refusal([] {
              choose_mla_partitions({148, 1, 1, 128, 0, 1});
            }),
            "heads is 128; this policy is the one for 64 heads or fewer");
  EXPECT_EQ(refusal([] { choose_mla_partitions({148, 1, 1, 64, 0, 3}); }), "min_partitions is 3; it must be 1 or 2");
}

// Sizes beyond 32 bits are refused before any product of them could overflow; within them everything is answered.
TEST(MlaDispatch, HugeSizesAreRefusedOrAnswered) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal([] {
              choose_mla_partitions({148, kHuge, 1, 64, 0, 1});
            }),
            "batch is 9223372036854775807; it must be at most 2147483647");
  EXPECT_THAT(refusal([] { choose_mla_partitions({148, 1, kHuge, 64, 0, 1}); }), testing::StartsWith("q_len is"));
  EXPECT_THAT(refusal([] { choose_mla_combine({148, 1, 1, kHuge, 0, 2, false}); }), testing::StartsWith("heads is"));
  EXPECT_THAT(refusal([] { choose_mla_sparse_partitions(148, kHuge, 1); }), testing::StartsWith("ctas is"));
  EXPECT_THAT(refusal([] { choose_mla_sparse_partitions(148, 1, kHuge); }), testing::StartsWith("len is"));
  EXPECT_EQ(choose_mla_partitions({148, kMost, kMost, 64, kMost, 1}), 1);
  EXPECT_EQ(choose_mla_sparse_partitions(148, kMost, kMost), 1);
  EXPECT_EQ(choose_mla_combine({148, kMost, kMost, kMost, kMost, 8, false}), (MlaCombineChoice{false, 2}));
}

}  // namespace
}  // namespace lsecheck
