#pragma once

#include <cstdint>
#include <optional>
#include <span>

// How many KV partitions (P) an attention launch is split into, and which combine path that implies: the host side of
// fa4_splitk_combine. The rules are production's for 148 SMs (B200) and 160 SMs (B300). For 132 SMs (H200), where the
// production kernels do not run, the ladder and the ceiling follow the same formulas and no cluster path exists.
//
// Every function throws std::invalid_argument, with one line that names the value, for an SM count outside {132, 148,
// 160} and for negative sizes.
namespace lsecheck {

// The runtime-P combine kernel's arrays end here; a larger P must be refused.
inline constexpr int kPMax = 160;

// Ascending partition counts ("rungs"), each with its own fully unrolled combine kernel; the last one is the SM count.
std::span<const int> splitk_p_ladder(int sm_count);

// Smallest rung >= num_partitions; nullopt above the last rung. P is itself a rung iff it is its own next rung.
std::optional<int> next_rung(int sm_count, int num_partitions);

// Clusters of cluster_size CTAs that run at once, given how the SMs are grouped into GPCs. 148 and 160 SMs only.
int clusters_per_wave(int cluster_size, int sm_count);

// Partition counts that waste no SM as one cluster: these take the fused cluster kernel instead of the workspace
// combine.
std::span<const int> cluster_candidates(int sm_count);

// Cap on P by how many CTAs one partition already needs. The cap need not be a rung (37, 49, 74, ...).
int ws_p_ceiling(int sm_count, std::int64_t raw_grid);

// Snaps n up to a rung, then caps it at p_max (the capped value is not snapped again). 1: do not split.
int bucket_ws(int sm_count, std::int64_t n, int p_max, std::int64_t raw_grid);

// The shared-key route (depth 256 and 512): snaps down, so the result is a rung or 1.
int sk_ws_partitions(int sm_count, std::int64_t visible_keys, std::int64_t raw_grid);

// Tiles [begin, end) of partition p when num_tiles mask-visible tiles are dealt front-loaded to num_partitions:
// only trailing partitions can be empty.
struct KvWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const KvWindow&) const = default;
};
KvWindow splitk_window(std::int64_t num_tiles, int num_partitions, int p);

enum class SplitRoute : std::uint8_t {
  one_query,   // depth 64 .. 128
  ws_32_rows,  // 32-row tiles, depth 64 or 128
  ws_64_rows,  // 64-row tiles, depth 64 or 128, long caches only
  shared_key   // depth 256 or 512
};

struct SplitRequest {
  int sm_count = 148;
  SplitRoute route = SplitRoute::one_query;
  int depth = 128;
  std::int64_t visible_keys = 0;
  std::int64_t raw_grid = 1;  // ceil(max_prompt_len / tile rows) * scheduled heads * batch
};

struct SplitChoice {
  int num_partitions = 1;
  bool fused_cluster = false;  // the cluster kernel merges its own partials

  bool launches_workspace_combine() const { return num_partitions > 1 && !fused_cluster; }
  bool operator==(const SplitChoice&) const = default;
};

// Keys one partition is worth before the bucketing: by_cache = visible_keys / keys_per_partition.
int keys_per_partition(SplitRoute route, int depth);

// Auto mode: bucket, ceiling and cluster choice together.
SplitChoice choose_workspace_partitions(const SplitRequest& request);

}  // namespace lsecheck
