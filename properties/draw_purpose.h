#pragma once

#include <cstddef>
#include <cstdint>

namespace lsecheck {

// Which draws of a case a stream holds (philox.h). The numbers are part of what a spec expands to.
enum class DrawPurpose : std::uint32_t {
  empties = 1,
  lse,
  policy,
  value_row,
  value,
  garbage,
  attention_launch,
  attention_window,
  attention_query,
  attention_key,
  attention_value,
  attention_sink,
  mass,
  mass_policy,
  exponent_scale,
  stale_exponent
};

// Index of partition p of row-head rh in streams that partitions have of their own: rh < 2^48 and p < 2^16.
constexpr std::uint64_t partition_index(std::uint64_t rh, std::size_t p) {
  return rh << 16 | p;
}

}  // namespace lsecheck
