#pragma once

#include <cstdint>

namespace lsecheck::simt {

// In Launch::only_blocks: the last block, whatever the grid.
inline constexpr std::uint64_t kLastBlock = UINT64_MAX;

}  // namespace lsecheck::simt
