#pragma once

#include <cstdint>
#include <vector>

#include "kernels/combine_kernel.h"
#include "kernels/two_partition/two_partition_verdict.h"

// The launches of the sweep: the smallest depth that each kernel is compiled for, of which columns 0 to 3 matter.
namespace lsecheck::two_partition {

inline constexpr std::uint32_t kHeads = 64;  // so that no grid axis is too long
inline constexpr std::uint32_t kCpuRows = 1024;

// rows: a multiple of kHeads.
inline CombineShape sweep_shape(Kernel kernel, std::uint32_t rows) {
  return {Arch::sm_90, 2, rows / kHeads, kHeads, kernel == Kernel::fa4 ? 64 : 256, DType::f32, DType::f32};
}

// FA4 has no rung of 2 for f32: the run-time kernel, which equals the rungs by law.
inline KernelVariant sweep_variant(Kernel kernel) {
  if (kernel == Kernel::fa4) return {.name = "runtime"};
  return {.name = "dense", .p_static = 2};
}

// [2, rows, depth]: the value pairs, zeros in the other columns.
inline std::vector<float> partials_of(const CombineShape& shape) {
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  std::vector<float> o(2 * shape.rows_heads() * depth, 0.0F);
  for (std::size_t row = 0; row < shape.rows_heads(); ++row) {
    for (std::size_t i = 0; i < kValuePairs; ++i) {
      const ValuePair pair = value_pair(static_cast<int>(i));
      o[row * depth + i] = pair.first;
      o[(shape.rows_heads() + row) * depth + i] = pair.second;
    }
  }
  return o;
}

}  // namespace lsecheck::two_partition
