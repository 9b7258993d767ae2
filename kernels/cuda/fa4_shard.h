#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/fa4_entry.h"

// The compiled kernels, dealt out to LSECHECK_FA4_SHARDS objects built from fa4_shard.cu: entry i of the table is in
// shard i mod LSECHECK_FA4_SHARDS.
namespace lsecheck::cuda {

struct Fa4Kernel {
  std::size_t entry;     // index into sm100::kFa4Entries
  const void* function;  // of the runtime's launch calls
};

// Defined once per shard.
template <int kShard>
void append_fa4_shard(std::vector<Fa4Kernel>& kernels);

}  // namespace lsecheck::cuda
