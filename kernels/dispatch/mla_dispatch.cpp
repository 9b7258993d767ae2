#include "kernels/dispatch/mla_dispatch.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <string>

namespace lsecheck {
namespace {

// The list with half = sm_count / 2 at its end. At 132 SMs half is 66, below 72: sorted and capped, it takes 72's
// place.
constexpr std::array<int, 13> kBuckets132{1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 66};
constexpr std::array<int, 14> kBuckets148{1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 72, 74};
constexpr std::array<int, 14> kBuckets160{1, 2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 72, 80};

constexpr std::int64_t kHeadsPerCta = 64;
constexpr std::int64_t kPagesPerSplit = 4;

[[noreturn]] void refuse(const std::string& line) {
  throw std::invalid_argument(line);
}

void require_at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) {
    refuse(std::string(name) + " is " + std::to_string(value) + "; it must be at least " + std::to_string(least));
  }
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// Production counts in 32 bits; within them no product below overflows.
void require_count(const char* name, std::int64_t value, std::int64_t least) {
  require_at_least(name, value, least);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value > kMost) {
    refuse(std::string(name) + " is " + std::to_string(value) + "; it must be at most " + std::to_string(kMost));
  }
}

std::int64_t page_size(const MlaSplitRequest& request) {
  return request.cache_len <= 512 && request.batch >= 32 ? 64 : 128;
}

void require_sizes(const MlaSplitRequest& request) {
  require_count("batch", request.batch, 1);
  require_count("q_len", request.q_len, 1);
  require_count("heads", request.heads, 1);
  require_count("cache_len", request.cache_len, 0);
  if (request.heads > kHeadsPerCta) {
    refuse("heads is " + std::to_string(request.heads) + "; this policy is the one for 64 heads or fewer");
  }
  if (request.min_partitions != 1 && request.min_partitions != 2) {
    refuse("min_partitions is " + std::to_string(request.min_partitions) + "; it must be 1 or 2");
  }
}

}  // namespace

std::span<const int> mla_split_buckets(int sm_count) {
  switch (sm_count) {
    case 132:
      return kBuckets132;
    case 148:
      return kBuckets148;
    case 160:
      return kBuckets160;
    default:
      refuse("sm_count " + std::to_string(sm_count) + " has no split buckets; use 132, 148 or 160");
  }
}

bool is_mla_bucket(int sm_count, std::int64_t num_partitions) {
  const auto buckets = mla_split_buckets(sm_count);
  return std::find(buckets.begin(), buckets.end(), num_partitions) != buckets.end();
}

int mla_bucket_num_partitions(int sm_count, std::int64_t wanted) {
  const auto buckets = mla_split_buckets(sm_count);
  require_at_least("wanted", wanted, 0);
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), wanted);
  return bucket == buckets.end() ? buckets.back() : *bucket;
}

int require_mla_bucket(int sm_count, std::int64_t num_partitions) {
  if (is_mla_bucket(sm_count, num_partitions)) return static_cast<int>(num_partitions);
  std::string line = "num_partitions " + std::to_string(num_partitions) + " has no MLA combine kernel on " +
                     std::to_string(sm_count) + " SMs; use one of";
  for (const int bucket : mla_split_buckets(sm_count)) line += ' ' + std::to_string(bucket);
  refuse(line);
}

std::int64_t mla_decode_ctas(const MlaSplitRequest& request) {
  require_sizes(request);
  const bool folded = request.q_len > 1 && request.heads * request.q_len <= kHeadsPerCta;
  return ceil_div(request.heads, kHeadsPerCta) * (folded ? 1 : request.q_len) * request.batch;
}

int choose_mla_partitions(const MlaSplitRequest& request) {
  const std::int64_t half = mla_split_buckets(request.sm_count).back();
  const std::int64_t ctas = mla_decode_ctas(request);
  const std::int64_t sm = request.sm_count;
  // Whole waves where they fill 85 % of the SMs.
  const std::int64_t whole = sm / ctas;
  const bool fills = 100 * whole * ctas >= 85 * sm;
  std::int64_t wanted = std::min(fills ? whole : ceil_div(sm, ctas), half);
  const std::int64_t pages = ceil_div(request.cache_len, page_size(request));
  wanted = std::min(wanted, pages / kPagesPerSplit);
  // A cache of fewer pages than min_partitions still gets that many splits.
  const std::int64_t least = request.min_partitions;
  wanted = std::clamp(wanted, least, std::max(least, std::min(half, pages)));
  return mla_bucket_num_partitions(request.sm_count, wanted);
}

int choose_mla_sparse_partitions(int sm_count, std::int64_t ctas, std::int64_t len) {
  constexpr std::int64_t kFixedCostPerWave = 187;
  const auto buckets = mla_split_buckets(sm_count);
  require_count("ctas", ctas, 1);
  require_count("len", len, 0);
  const auto cost = [&](std::int64_t num_partitions) {
    return ceil_div(ctas * num_partitions, sm_count) * (kFixedCostPerWave + ceil_div(len, num_partitions));
  };
  int best = buckets.front();
  for (const int bucket : buckets) {
    if (100 * cost(bucket) < 98 * cost(best)) best = bucket;
  }
  return best;
}

int choose_mla_warps_per_head(const MlaCombineRequest& request) {
  require_mla_bucket(request.sm_count, request.num_partitions);
  require_count("batch", request.batch, 1);
  require_count("q_len", request.q_len, 1);
  require_count("heads", request.heads, 1);
  require_count("cache_len", request.cache_len, 0);
  // Nothing below tells more than 4096 from 4096: each factor is at least 1 and may be capped, so that three fit.
  const auto capped = [](std::int64_t factor) { return std::min<std::int64_t>(factor, 4096); };
  const std::int64_t base = capped(request.batch) * capped(request.q_len) * capped(ceil_div(request.heads, 4));
  if (base >= 4096 && request.num_partitions <= 4 && request.cache_len <= 1280 && !request.fp8_kv) return 1;
  if (base >= 2048 && request.num_partitions > 4) return 2;
  if (base >= 512) return 4;
  return request.batch * request.heads > 2 * std::int64_t{request.sm_count} ? 4 : 8;
}

MlaCombineChoice choose_mla_combine(const MlaCombineRequest& request) {
  const int warps_per_head = choose_mla_warps_per_head(request);
  if (request.cache_len >= 16384 && request.batch <= 2) return {true, warps_per_head};
  return {false, warps_per_head};
}

}  // namespace lsecheck
