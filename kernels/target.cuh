#pragma once

// The few names that a kernel source needs beyond the language: from the executor when the host compiler builds it,
// from PTX when nvcc does. threadIdx and blockIdx; load_global, store_global; shuffle, shuffle_xor, warp_uniform;
// ex2_approx_ftz, lg2_approx, rcp_approx_ftz; warp_barrier, block_barrier; async_commit, async_wait;
// grid_dependency_wait; LSECHECK_SHARED_ARRAY (load, store, copy_async); LSECHECK_DYNAMIC_SHARED and SharedWindow;
// TensorMemory; LSECHECK_KERNEL, LSECHECK_LAUNCH_BOUNDS, LSECHECK_DEVICE, LSECHECK_UNROLL.
#if defined(__CUDACC__)
#include "kernels/cuda/device_api.cuh"
#else
#include "kernels/simt/device_api.h"
#endif
