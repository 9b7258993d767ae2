#pragma once

#include <array>

#include "reference/float_format.h"

// The one list of MLA combine instantiations, read by the host build and by nvcc alike. Production (bf16, head
// dimension 512) exists at every bucket of every chip (kernels/dispatch/mla_dispatch.h); the other types at five
// buckets, which cover one full and several slots per lane; another head dimension, which no model uses, at two, so
// that the divisibility rule is compiled and run.
namespace lsecheck::sm100 {

inline constexpr std::array<int, 2> kMlaHeadDims{256, 512};
inline constexpr std::array<int, 15> kMlaSplits{2, 3, 4, 8, 9, 16, 18, 20, 32, 37, 64, 66, 72, 74, 80};
inline constexpr std::array<int, 4> kMlaWarpsPerHead{8, 4, 2, 1};
// Stands where a warps_per_head would for mla_combine_split_parallel.
inline constexpr int kSplitParallelInstance = 0;

// Partials and output have one type. Holds for both kernels, and for every warps_per_head.
constexpr bool mla_in_table(DType type, int head_dim, int num_splits) {
  if (head_dim == 256) return type != DType::f16 && (num_splits == 2 || num_splits == 37);
  if (type == DType::bf16) return true;
  return num_splits == 2 || num_splits == 9 || num_splits == 32 || num_splits == 37 || num_splits == 72;
}

}  // namespace lsecheck::sm100
