#pragma once

// Before a function that both the host compiler and nvcc build, for both sides: its operations are then the same ones,
// and so are its results. Plain constexpr functions need no mark.
#if defined(__CUDACC__)
#define LSECHECK_ANYWHERE __host__ __device__ inline
#else
#define LSECHECK_ANYWHERE inline
#endif
