#pragma once

#include <cstdint>
#include <span>

// How many splits an MLA decode launch takes and which combine kernel merges them: the host side of mla_combine and
// mla_combine_split_parallel. The rules are production's for 148 SMs (B200) and 160 SMs (B300). For 132 SMs (H200),
// where the production kernels do not run, the bucket list follows the same formula, sorted and capped at half the SMs.
//
// Every function throws std::invalid_argument, with one line that names the value, for an SM count outside {132, 148,
// 160} and for sizes out of range; batch, lengths, heads and CTAs are counts of 32 bits.
namespace lsecheck {

// Ascending split counts that have a combine kernel; 1 means no split and no combine; the last one is half the SMs.
std::span<const int> mla_split_buckets(int sm_count);

bool is_mla_bucket(int sm_count, std::int64_t num_partitions);

// The smallest bucket >= wanted; above the top: the top. Over-splitting, and so trailing empty splits, is normal.
int mla_bucket_num_partitions(int sm_count, std::int64_t wanted);

// num_partitions itself where it is a bucket; any other count throws, for no kernel would run and the output would stay
// unwritten.
int require_mla_bucket(int sm_count, std::int64_t num_partitions);

struct MlaSplitRequest {
  int sm_count = 148;
  std::int64_t batch = 1;
  std::int64_t q_len = 1;  // query positions per sequence
  std::int64_t heads = 64;
  std::int64_t cache_len = 0;
  int min_partitions = 1;  // 1 or 2
};

// CTAs of one split for up to 64 heads: query positions are folded into one where they fit.
std::int64_t mla_decode_ctas(const MlaSplitRequest& request);

// Dense decode with at most 64 heads: as many splits as fill the SMs, at least four pages each, as a bucket.
int choose_mla_partitions(const MlaSplitRequest& request);

// Sparse FP8 speculative decode: the bucket of least modelled cost, a larger one only where it is more than 2 %
// cheaper.
int choose_mla_sparse_partitions(int sm_count, std::int64_t ctas, std::int64_t len);

struct MlaCombineRequest {
  int sm_count = 148;
  std::int64_t batch = 1;
  std::int64_t q_len = 1;
  std::int64_t heads = 128;
  std::int64_t cache_len = 0;
  int num_partitions = 2;
  bool fp8_kv = false;
};

struct MlaCombineChoice {
  bool split_parallel = false;
  int warps_per_head = 8;  // of mla_combine; of no meaning for split_parallel

  bool operator==(const MlaCombineChoice&) const = default;
};

MlaCombineChoice choose_mla_combine(const MlaCombineRequest& request);

// The same for the case that mla_combine is launched, whatever the cache length.
int choose_mla_warps_per_head(const MlaCombineRequest& request);

}  // namespace lsecheck
