#pragma once

#include <array>

#include "reference/float_format.h"

// The one list of FA4 combine instantiations, read by the host build and by nvcc alike. Production combinations (16-bit
// partials in the output type, vector depths) exist at every rung of every chip's ladder; everything else at four
// rungs, which cover one full and several slots per lane. Every combination has the runtime-P kernel (P_STATIC = 0).
namespace lsecheck::sm100 {

inline constexpr std::array<int, 10> kFa4Depths{64, 72, 80, 96, 128, 160, 192, 224, 256, 512};
inline constexpr std::array<int, 18> kFa4PStatics{0, 2, 4, 6, 8, 10, 12, 16, 18, 20, 24, 32, 48, 64, 96, 132, 148, 160};

constexpr bool fa4_is_production(DType out, DType partial, int ov_depth) {
  return out == partial && out != DType::f32 &&
         (ov_depth == 64 || ov_depth == 128 || ov_depth == 256 || ov_depth == 512);
}

// Partials in the output type or in f32.
constexpr bool fa4_in_table(DType out, DType partial, int ov_depth, int p_static) {
  if (out != partial && partial != DType::f32) return false;
  if (p_static == 0 || fa4_is_production(out, partial, ov_depth)) return true;
  return p_static == 8 || p_static == 32 || p_static == 64 || p_static == 96;
}

// The fast variant (fa4_splitk_combine_fast.cuh): run-time P, every pair of types, depths that split into whole
// vectors.
inline constexpr std::array<int, 2> kFa4FastLoadBytes{16, 4};

constexpr bool fa4_fast_in_table(int ov_depth) {
  return ov_depth == 64 || ov_depth == 128 || ov_depth == 256 || ov_depth == 512;
}

}  // namespace lsecheck::sm100
