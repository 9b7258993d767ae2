#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// A part of a case sequence. The sequence is cut into batches of kBatchCases cases; batch b belongs to shard b % count,
// so every shard has its share of whatever changes along the sequence, and all shards together hold each case once.
namespace lsecheck {

inline constexpr std::uint64_t kBatchCases = 64;

struct Shard {
  std::uint32_t index = 0;  // below count
  std::uint32_t count = 1;  // 1: the whole sequence

  bool operator==(const Shard&) const = default;
};

inline constexpr std::uint32_t kMaxShards = 1'000'000;

// "1/8" to "8/8": a person counts from 1.
std::string format_shard(const Shard& shard);
std::optional<Shard> parse_shard(std::string_view text);

// The first case of the shard at or after `from`, in a sequence of `cases`; `cases` when there is none. `from` is
// `cases` or a multiple of kBatchCases.
std::uint64_t next_case_of(const Shard& shard, std::uint64_t from, std::uint64_t cases);

}  // namespace lsecheck
