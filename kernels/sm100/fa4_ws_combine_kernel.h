#pragma once

#include "kernels/combine_kernel.h"

namespace lsecheck::sm100 {

// The levels of the in-CTA combine as registered kernels. Inputs: lse_partial holds the reference exponents m,
// mass_partial the masses l >= +0, o_partial (f32) the unnormalised accumulators. Exponent forms: scaled (use_fma) and
// log2.
const CombineKernel& fa4_ws_intracta_combine_kernel();             // P = m_pack: 2 or 4
const CombineKernel& fa4_ws_level1_combine_kernel();               // the same, unnormalised: D sums, then l, then m
const CombineKernel& fa4_ws_level2_reduce_scatter_write_kernel();  // P = 2 warpgroups, or 1 that worked alone
const CombineKernel& fa4_ws_two_level_combine_kernel();            // P = 2 * m_pack: level 1 twice, then level 2

}  // namespace lsecheck::sm100
