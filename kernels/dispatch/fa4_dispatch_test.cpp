#include "kernels/dispatch/fa4_dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "kernels/arch.h"

namespace lsecheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool is_rung(int sm_count, int p) {
  return next_rung(sm_count, p) == p;
}

TEST(Fa4Dispatch, LadderIsPinned) {
  EXPECT_THAT(splitk_p_ladder(148), ElementsAre(2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 32, 48, 64, 96, 148));
  EXPECT_THAT(splitk_p_ladder(160), ElementsAre(2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 32, 48, 64, 96, 160));
  EXPECT_THAT(splitk_p_ladder(132), ElementsAre(2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 32, 48, 64, 96, 132));
}

TEST(Fa4Dispatch, EveryRungFitsTheRuntimeKernelsArrays) {
  for (const Arch arch : kAllArchs) EXPECT_LE(splitk_p_ladder(sm_count_of(arch)).back(), kPMax);
}

TEST(Fa4Dispatch, NextRung) {
  EXPECT_EQ(next_rung(148, 1), 2);
  EXPECT_EQ(next_rung(148, 2), 2);
  EXPECT_EQ(next_rung(148, 33), 48);
  EXPECT_EQ(next_rung(148, 97), 148);
  EXPECT_EQ(next_rung(148, 149), std::nullopt);
  EXPECT_EQ(next_rung(160, 149), 160);
}

TEST(Fa4Dispatch, ClustersPerWaveIsPinned) {
  const std::vector<int> sizes{1, 2, 4, 6, 8, 10, 16};
  std::vector<int> b200, b300;
  for (const int c : sizes) {
    b200.push_back(clusters_per_wave(c, 148));
    b300.push_back(clusters_per_wave(c, 160));
  }
  EXPECT_THAT(b200, ElementsAre(148, 74, 33, 22, 15, 11, 7));
  EXPECT_THAT(b300, ElementsAre(160, 80, 40, 24, 16, 16, 8));
}

TEST(Fa4Dispatch, ClusterCandidatesArePinnedAndWasteNoSm) {
  EXPECT_THAT(cluster_candidates(148), ElementsAre(2));
  EXPECT_THAT(cluster_candidates(160), ElementsAre(2, 4, 10));
  EXPECT_THAT(cluster_candidates(132), IsEmpty());
  for (const int sm_count : {148, 160}) {
    for (const int c : cluster_candidates(sm_count)) EXPECT_EQ(c * clusters_per_wave(c, sm_count), sm_count);
  }
}

TEST(Fa4Dispatch, CeilingTableIsPinned) {
  const std::vector<int> grids{1, 2, 3, 4, 24, 25, 32, 64, 100, 148, 222, 296, 444, 888, 1000000};
  const auto ceilings = [&](int sm_count) {
    std::vector<int> result;
    result.reserve(grids.size());
    for (const int g : grids) result.push_back(ws_p_ceiling(sm_count, g));
    return result;
  };
  EXPECT_THAT(ceilings(148), ElementsAre(148, 74, 49, 37, 37, 35, 27, 13, 8, 6, 4, 3, 2, 1, 1));
  EXPECT_THAT(ceilings(160), ElementsAre(160, 80, 53, 40, 40, 38, 30, 15, 9, 6, 4, 3, 2, 1, 1));
  EXPECT_THAT(ceilings(132), ElementsAre(132, 66, 44, 33, 33, 31, 24, 12, 7, 5, 3, 2, 1, 1, 1));
  EXPECT_EQ(ws_p_ceiling(148, 0), 148);
  EXPECT_EQ(ws_p_ceiling(148, 887), 1);
}

std::set<int> off_rung_ceilings(int sm_count) {
  std::set<int> result;
  for (int g = 0; g < 2000; ++g) {
    const int p = ws_p_ceiling(sm_count, g);
    if (p > 1 && !is_rung(sm_count, p)) result.insert(p);
  }
  return result;
}

TEST(Fa4Dispatch, OffRungCapsArePinned) {
  EXPECT_THAT(off_rung_ceilings(148), ElementsAre(3, 5, 7, 9, 11, 13, 14, 15, 17, 19, 21, 22, 23, 25, 26, 27, 28, 29,
                                                  30, 31, 34, 35, 37, 49, 74));
  EXPECT_THAT(off_rung_ceilings(160), ElementsAre(3, 5, 7, 9, 11, 13, 14, 15, 17, 19, 21, 22, 23, 25, 26, 27, 28, 29,
                                                  30, 33, 34, 35, 36, 38, 40, 53, 80));
}

TEST(Fa4Dispatch, BucketSnapsUpThenCapsWithoutSnappingAgain) {
  EXPECT_EQ(bucket_ws(148, 0, 148, 1), 2);  // over-splitting is normal
  EXPECT_EQ(bucket_ws(148, 3, 148, 1), 4);
  EXPECT_EQ(bucket_ws(148, 33, 148, 1), 48);
  EXPECT_EQ(bucket_ws(148, 33, 37, 4), 37);
  EXPECT_EQ(bucket_ws(148, 65, 74, 2), 74);
  EXPECT_EQ(bucket_ws(148, 97, 148, 1), 148);
  EXPECT_EQ(bucket_ws(148, 5000, 148, 1), 148);
  EXPECT_EQ(bucket_ws(160, 5000, 148, 1), 148);
  for (const int sm_count : {132, 148, 160}) {
    for (const int rung : splitk_p_ladder(sm_count)) EXPECT_EQ(bucket_ws(sm_count, rung, kPMax, 1), rung);
  }
}

TEST(Fa4Dispatch, BucketGuardEdges) {
  // Below one full wave the guard never fires.
  EXPECT_EQ(bucket_ws(148, 0, 6, 147), 2);
  // ceil(296/148) = 2 is not less than 2*1: no split.
  EXPECT_EQ(bucket_ws(148, 0, 6, 148), 1);
  EXPECT_EQ(bucket_ws(148, 1, 6, 148), 1);
  EXPECT_EQ(bucket_ws(148, 2, 6, 148), 2);  // n reaches the first rung
  // 149 .. 222 CTAs: ceil(2g/148) = 3 < 4, splitting fills the second wave.
  EXPECT_EQ(bucket_ws(148, 1, 4, 149), 2);
  EXPECT_EQ(bucket_ws(148, 1, 4, 222), 2);
  EXPECT_EQ(bucket_ws(148, 1, 3, 223), 1);
  EXPECT_EQ(bucket_ws(160, 1, 6, 160), 1);
  EXPECT_EQ(bucket_ws(160, 1, 4, 161), 2);
  EXPECT_EQ(bucket_ws(132, 1, 6, 132), 1);
  EXPECT_EQ(bucket_ws(132, 1, 6, 133), 2);
}

// Waves are counted without overflow: a grid of any size acts as one that is some whole waves smaller.
TEST(Fa4Dispatch, BucketOfTheLargestGrids) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t below = 0; below < 148; ++below) {
    const std::int64_t grid = kHuge - below;
    EXPECT_EQ(bucket_ws(148, 1, 64, grid), bucket_ws(148, 1, 64, 2 * 148 + grid % 148)) << grid;
  }
}

TEST(Fa4Dispatch, SharedKeySnapsDownToARung) {
  EXPECT_EQ(sk_ws_partitions(148, 0, 1), 1);
  EXPECT_EQ(sk_ws_partitions(148, 384 * 2 - 1, 1), 1);
  EXPECT_EQ(sk_ws_partitions(148, 384 * 2, 1), 2);
  EXPECT_EQ(sk_ws_partitions(148, 384 * 37, 1), 32);
  EXPECT_EQ(sk_ws_partitions(148, 384 * 148 - 1, 1), 96);
  EXPECT_EQ(sk_ws_partitions(148, 1 << 24, 1), 148);
  EXPECT_EQ(sk_ws_partitions(148, 1 << 24, 0), 148);
  EXPECT_EQ(sk_ws_partitions(148, 1 << 24, 4), 32);  // 148/4 = 37
  EXPECT_EQ(sk_ws_partitions(148, 1 << 24, 75), 1);
  for (int g = 1; g < 200; ++g) {
    for (int keys = 0; keys < 80000; keys += 997) {
      const int p = sk_ws_partitions(160, keys, g);
      EXPECT_TRUE(p == 1 || is_rung(160, p)) << p;
    }
  }
}

TEST(Fa4Dispatch, WindowsTileTheRangeAndOnlyTrailingOnesAreEmpty) {
  for (const int num_partitions : {1, 2, 3, 37, 148}) {
    for (int num_tiles = 0; num_tiles < 400; num_tiles += 7) {
      std::int64_t next = 0;
      bool seen_empty = false;
      for (int p = 0; p < num_partitions; ++p) {
        const KvWindow window = splitk_window(num_tiles, num_partitions, p);
        EXPECT_EQ(window.begin, next);
        EXPECT_FALSE(seen_empty && !window.empty());
        seen_empty = seen_empty || window.empty();
        next = window.end;
      }
      EXPECT_EQ(next, num_tiles);
    }
  }
  EXPECT_EQ(splitk_window(7, 3, 0), (KvWindow{0, 3}));
  EXPECT_EQ(splitk_window(7, 3, 2), (KvWindow{5, 7}));
}

TEST(Fa4Dispatch, ChoiceCombinesBucketCeilingAndClusters) {
  const auto choose = [](int sm_count, SplitRoute route, int depth, std::int64_t keys, std::int64_t raw_grid) {
    return choose_workspace_partitions({sm_count, route, depth, keys, raw_grid});
  };
  // The common B200 decode: more than 32 partitions' worth of keys, capped at 37.
  EXPECT_EQ(choose(148, SplitRoute::one_query, 128, 131072, 8), (SplitChoice{37, false}));
  EXPECT_EQ(choose(160, SplitRoute::ws_32_rows, 64, 131072, 24), (SplitChoice{40, false}));
  EXPECT_EQ(choose(148, SplitRoute::one_query, 128, 100, 1), (SplitChoice{2, true}));
  EXPECT_EQ(choose(160, SplitRoute::one_query, 128, 512 * 9, 1), (SplitChoice{10, true}));
  EXPECT_EQ(choose(148, SplitRoute::one_query, 128, 512 * 9, 1), (SplitChoice{10, false}));
  EXPECT_EQ(choose(132, SplitRoute::one_query, 128, 100, 1), (SplitChoice{2, false}));
  EXPECT_EQ(choose(148, SplitRoute::shared_key, 512, 768, 1), (SplitChoice{2, false}));
  EXPECT_EQ(choose(148, SplitRoute::one_query, 128, 100, 148), (SplitChoice{1, false}));
  EXPECT_FALSE((SplitChoice{1, false}).launches_workspace_combine());
  EXPECT_FALSE((SplitChoice{2, true}).launches_workspace_combine());
  EXPECT_TRUE((SplitChoice{2, false}).launches_workspace_combine());
  // 64-row tiles.
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 128, 8191, 1).num_partitions, 1);
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 128, 8192, 1).num_partitions, 16);
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 128, 1 << 24, 1).num_partitions, 64);
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 64, 65535, 1).num_partitions, 1);
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 64, 65536, 2).num_partitions, 64);
  EXPECT_EQ(choose(148, SplitRoute::ws_64_rows, 64, 65536, 3).num_partitions, 1);
}

TEST(Fa4Dispatch, AutoModeNeverSendsAClusterCandidateToTheWorkspace) {
  for (const int sm_count : {148, 160}) {
    const auto clusters = cluster_candidates(sm_count);
    for (int g = 1; g < 300; g += 3) {
      for (std::int64_t keys = 0; keys < 100000; keys += 511) {
        const SplitChoice choice = choose_workspace_partitions({sm_count, SplitRoute::one_query, 128, keys, g});
        EXPECT_LE(choice.num_partitions, ws_p_ceiling(sm_count, g));
        if (choice.launches_workspace_combine()) {
          EXPECT_EQ(std::count(clusters.begin(), clusters.end(), choice.num_partitions), 0);
        }
      }
    }
  }
}

std::string refusal(auto&& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Fa4Dispatch, BadInputIsRefusedByName) {
  EXPECT_EQ(refusal([] { splitk_p_ladder(144); }), "sm_count 144 has no split-K tables; use 132, 148 or 160");
  EXPECT_EQ(refusal([] { clusters_per_wave(2, 132); }),
            "sm_count 132 has no GPC table; clusters_per_wave knows 148 and 160");
  EXPECT_EQ(refusal([] { clusters_per_wave(0, 148); }), "cluster_size is 0; it must be at least 1");
  EXPECT_EQ(refusal([] { cluster_candidates(1); }), "sm_count 1 has no split-K tables; use 132, 148 or 160");
  EXPECT_EQ(refusal([] { ws_p_ceiling(148, -1); }), "raw_grid is -1; it must not be negative");
  EXPECT_EQ(refusal([] { bucket_ws(148, 1, 0, 1); }), "p_max is 0; it must be at least 1");
  EXPECT_EQ(refusal([] { bucket_ws(148, -1, 1, 1); }), "n is -1; it must not be negative");
  EXPECT_EQ(refusal([] { sk_ws_partitions(148, -5, 1); }), "visible_keys is -5; it must not be negative");
  EXPECT_EQ(refusal([] { splitk_window(4, 2, 2); }), "partition 2 is outside [0, 2)");
  EXPECT_EQ(refusal([] {
              choose_workspace_partitions({148, SplitRoute::shared_key, 128, 1, 1});
            }),
            "depth 128 has no kernel on this split-K route");
}

}  // namespace
}  // namespace lsecheck
