#include "kernels/dispatch/fa4_dispatch.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace lsecheck {
namespace {

using Ladder = std::array<int, 15>;

constexpr Ladder ladder_for(int sm_count) {
  return {2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 32, 48, 64, 96, sm_count};
}

constexpr Ladder kLadder132 = ladder_for(132);
constexpr Ladder kLadder148 = ladder_for(148);
constexpr Ladder kLadder160 = ladder_for(160);

constexpr std::array<int, 1> kClusters148{2};
constexpr std::array<int, 3> kClusters160{2, 4, 10};

constexpr std::int64_t kSharedKeyKeysPerPartition = 384;
// Layout with 64-row tiles: P never above this, and only for caches at least this long.
constexpr int k64RowCeiling = 64;
constexpr std::int64_t k64RowMinKeysDepth128 = 8192;
constexpr std::int64_t k64RowMinKeysDepth64 = 65536;
constexpr std::int64_t k64RowMaxGridDepth64 = 2;

[[noreturn]] void refuse(const std::string& line) {
  throw std::invalid_argument(line);
}

void require_known(int sm_count) {
  if (sm_count != 132 && sm_count != 148 && sm_count != 160) {
    refuse("sm_count " + std::to_string(sm_count) + " has no split-K tables; use 132, 148 or 160");
  }
}

void require_not_negative(const char* name, std::int64_t value) {
  if (value < 0) refuse(std::string(name) + " is " + std::to_string(value) + "; it must not be negative");
}

void require_positive(const char* name, std::int64_t value) {
  if (value < 1) refuse(std::string(name) + " is " + std::to_string(value) + "; it must be at least 1");
}

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// Two partitions per query tile would not finish in fewer than twice the waves that one takes. Unsigned: twice any grid
// fits.
bool split_in_two_gains_nothing(int sm_count, std::int64_t raw_grid) {
  const std::uint64_t sm = static_cast<std::uint64_t>(sm_count);
  const std::uint64_t grid = static_cast<std::uint64_t>(raw_grid);
  return grid >= sm && !(ceil_div(2 * grid, sm) < 2 * ceil_div(grid, sm));
}

bool depth_fits(SplitRoute route, int depth) {
  switch (route) {
    case SplitRoute::one_query:
      return depth >= 64 && depth <= 128;
    case SplitRoute::ws_32_rows:
    case SplitRoute::ws_64_rows:
      return depth == 64 || depth == 128;
    case SplitRoute::shared_key:
      break;
  }
  return depth == 256 || depth == 512;
}

bool long_enough_for_64_rows(const SplitRequest& request) {
  if (request.depth == 128) return request.visible_keys >= k64RowMinKeysDepth128;
  return request.visible_keys >= k64RowMinKeysDepth64 && request.raw_grid <= k64RowMaxGridDepth64;
}

}  // namespace

std::span<const int> splitk_p_ladder(int sm_count) {
  require_known(sm_count);
  if (sm_count == 132) return kLadder132;
  return sm_count == 148 ? kLadder148 : kLadder160;
}

std::optional<int> next_rung(int sm_count, int num_partitions) {
  const std::span<const int> ladder = splitk_p_ladder(sm_count);
  const auto rung = std::lower_bound(ladder.begin(), ladder.end(), num_partitions);
  if (rung == ladder.end()) return std::nullopt;
  return *rung;
}

int clusters_per_wave(int cluster_size, int sm_count) {
  require_positive("cluster_size", cluster_size);
  const int c = cluster_size;
  // GPCs of 20, 20, 20, 18, 18, 18, 18, 10, 2, 2, 2 SMs; a cluster lives inside one GPC.
  if (sm_count == 148) return 3 * (20 / c) + 4 * (18 / c) + 10 / c + 3 * (2 / c);
  if (sm_count == 160) return 8 * (20 / c);
  refuse("sm_count " + std::to_string(sm_count) + " has no GPC table; clusters_per_wave knows 148 and 160");
}

std::span<const int> cluster_candidates(int sm_count) {
  require_known(sm_count);
  if (sm_count == 148) return kClusters148;
  if (sm_count == 160) return kClusters160;
  return {};
}

int ws_p_ceiling(int sm_count, std::int64_t raw_grid) {
  require_known(sm_count);
  require_not_negative("raw_grid", raw_grid);
  const std::int64_t g = std::max<std::int64_t>(raw_grid, 1);
  const std::int64_t upper = sm_count / std::min<std::int64_t>(g, 4);
  return static_cast<int>(std::clamp<std::int64_t>(sm_count * std::int64_t{6} / g, 1, upper));
}

int bucket_ws(int sm_count, std::int64_t n, int p_max, std::int64_t raw_grid) {
  const std::span<const int> ladder = splitk_p_ladder(sm_count);
  require_not_negative("n", n);
  require_positive("p_max", p_max);
  require_not_negative("raw_grid", raw_grid);
  if (n < ladder.front() && split_in_two_gains_nothing(sm_count, raw_grid)) return 1;
  for (const int rung : ladder) {
    if (n <= rung) return std::min(rung, p_max);
  }
  return std::min(sm_count, p_max);
}

int sk_ws_partitions(int sm_count, std::int64_t visible_keys, std::int64_t raw_grid) {
  const std::span<const int> ladder = splitk_p_ladder(sm_count);
  require_not_negative("visible_keys", visible_keys);
  require_not_negative("raw_grid", raw_grid);
  const std::int64_t by_cache = std::max<std::int64_t>(1, visible_keys / kSharedKeyKeysPerPartition);
  const std::int64_t by_grid = std::max<std::int64_t>(1, sm_count / std::max<std::int64_t>(raw_grid, 1));
  const std::int64_t want = std::min(by_cache, by_grid);
  const auto above = std::upper_bound(ladder.begin(), ladder.end(), want);
  return above == ladder.begin() ? 1 : *(above - 1);
}

KvWindow splitk_window(std::int64_t num_tiles, int num_partitions, int p) {
  require_not_negative("num_tiles", num_tiles);
  require_positive("num_partitions", num_partitions);
  if (p < 0 || p >= num_partitions) {
    refuse("partition " + std::to_string(p) + " is outside [0, " + std::to_string(num_partitions) + ")");
  }
  const std::int64_t q = num_tiles / num_partitions;
  const std::int64_t r = num_tiles % num_partitions;
  return {p * q + std::min<std::int64_t>(p, r), (p + 1) * q + std::min<std::int64_t>(p + 1, r)};
}

int keys_per_partition(SplitRoute route, int depth) {
  if (!depth_fits(route, depth)) refuse("depth " + std::to_string(depth) + " has no kernel on this split-K route");
  switch (route) {
    case SplitRoute::one_query:
      return depth == 64 ? 256 : 512;
    case SplitRoute::ws_32_rows:
    case SplitRoute::ws_64_rows:
      return 512 * depth / 128;
    case SplitRoute::shared_key:
      break;
  }
  return static_cast<int>(kSharedKeyKeysPerPartition);
}

SplitChoice choose_workspace_partitions(const SplitRequest& request) {
  const int keys = keys_per_partition(request.route, request.depth);
  require_not_negative("visible_keys", request.visible_keys);
  if (request.route == SplitRoute::shared_key) {
    // No cluster kernel here, so even a cluster candidate goes through the workspace.
    return {sk_ws_partitions(request.sm_count, request.visible_keys, request.raw_grid), false};
  }
  int ceiling = ws_p_ceiling(request.sm_count, request.raw_grid);
  if (request.route == SplitRoute::ws_64_rows) {
    if (!long_enough_for_64_rows(request)) return {1, false};
    ceiling = std::min(ceiling, k64RowCeiling);
  }
  const int p = bucket_ws(request.sm_count, request.visible_keys / keys, ceiling, request.raw_grid);
  const std::span<const int> clusters = cluster_candidates(request.sm_count);
  return {p, std::find(clusters.begin(), clusters.end(), p) != clusters.end()};
}

}  // namespace lsecheck
