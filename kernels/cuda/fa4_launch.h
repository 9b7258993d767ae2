#pragma once

#include <cuda_runtime_api.h>

#include "kernels/combine_kernel.h"
#include "kernels/cuda/fa4_entry.h"

// Inside the CUDA backend only: one launch of fa4_splitk_combine on device memory.
namespace lsecheck::cuda {

// Layouts as in CombineBuffers, in device memory.
struct Fa4DeviceBuffers {
  const void* lse_partial;
  const void* o_partial;
  void* output;
};

// The compiled kernel for the runtime's calls; throws std::invalid_argument where the table has no such entry.
const void* fa4_function(const sm100::Fa4Entry& entry);

// Launches it as production does: one warp per row-head, with programmatic stream serialization.
void enqueue_fa4(const void* function, const CombineShape& shape, const Fa4DeviceBuffers& buffers, cudaStream_t stream);

}  // namespace lsecheck::cuda
