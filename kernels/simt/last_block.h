#pragma once

#include <cstdint>

namespace lsecheck::simt {

// In Launch::only_blocks: kLastBlock - k is the last block but k, k < 16, whatever the grid.
inline constexpr std::uint64_t kLastBlock = UINT64_MAX;
inline constexpr std::uint64_t kBlockFromTheEnd = kLastBlock - 15;

}  // namespace lsecheck::simt
