#include "properties/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lsecheck {
namespace {

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string format_shard(const Shard& shard) {
  return fmt::format("{}/{}", std::uint64_t{shard.index} + 1, shard.count);
}

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = parse_number(text.substr(0, slash));
  const auto count = parse_number(text.substr(slash + 1));
  if (!number || !count || *number < 1 || *number > *count || *count > kMaxShards) return std::nullopt;
  return Shard{*number - 1, *count};
}

std::uint64_t next_case_of(const Shard& shard, std::uint64_t from, std::uint64_t cases) {
  if (from >= cases) return cases;
  const std::uint64_t batch = from / kBatchCases;
  const std::uint64_t batches_to_wait = (shard.index + shard.count - batch % shard.count) % shard.count;
  return std::min((batch + batches_to_wait) * kBatchCases, cases);
}

}  // namespace lsecheck
