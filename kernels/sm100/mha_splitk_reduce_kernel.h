#pragma once

#include "kernels/combine_kernel.h"

namespace lsecheck::sm100 {

// mha_splitk_reduce as a registered kernel: lse_partial holds qk_max, in log2 units (exp2) or natural (exp),
// mass_partial exp_sum, not negative. num_partitions 1 to 32, partials in the output type or in f32.
const CombineKernel& mha_splitk_reduce_kernel();

}  // namespace lsecheck::sm100
