#pragma once

#include "kernels/ptx_float.h"
#include "kernels/target.cuh"

// Full-warp reductions of the combine kernels. Every lane gets the result, bit-identical: each butterfly step is
// commutative.
namespace lsecheck::sm100 {

LSECHECK_DEVICE float butterfly_max(float value) {
  for (unsigned offset = 16; offset > 0; offset /= 2) value = max_non_nan(value, shuffle_xor(value, offset));
  return warp_uniform(value);
}

// sm_100a has one instruction for it, which propagates NaN; every other chip a butterfly of max.f32, which ignores NaN.
LSECHECK_DEVICE float warp_max(float value) {
  return warp_max_is_redux() ? redux_max_nan(value) : butterfly_max(value);
}

LSECHECK_DEVICE float warp_sum(float value) {
  for (unsigned offset = 16; offset > 0; offset /= 2) value = value + shuffle_xor(value, offset);
  return value;
}

}  // namespace lsecheck::sm100
