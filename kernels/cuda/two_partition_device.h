#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/sfu/sfu.h"
#include "kernels/two_partition/column_tally.h"
#include "kernels/two_partition/two_partition_verdict.h"

// Inside the CUDA backend only: the kernels of cuda_two_partition.h beside the combine itself.
namespace lsecheck::cuda {

// Pointers into device memory.
struct TwoPartitionBatch {
  const std::uint32_t* lse_1;   // [count]
  const std::uint32_t* output;  // [count, depth]
  unsigned count;
  int depth;
  sfu::UnitAccuracy unit;
  two_partition::ColumnTally* tallies;  // [blocks, kValuePairs], added to
  two_partition::OpenElement* open;     // [kMaxOpen]
  unsigned long long* open_count;
};

// lse_1[r] = (first + r) * stride for r < count, 0 up to `rows`.
void enqueue_fill_lse(std::uint32_t* lse_1, std::uint64_t first, unsigned count, unsigned rows, std::uint64_t stride,
                      cudaStream_t stream);
void enqueue_certify(two_partition::Kernel kernel, const TwoPartitionBatch& batch, unsigned blocks,
                     cudaStream_t stream);

}  // namespace lsecheck::cuda
