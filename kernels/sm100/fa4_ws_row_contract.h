#pragma once

#include "kernels/combine_kernel.h"
#include "kernels/sm100/fa4_ws_instantiation_table.h"

// The special-value contract of the in-CTA combine levels: what a row's exponents, masses and values make due, the same
// on every chip. Masses are >= +0, NaN or +Inf; those of partitions without a key (m = -inf) may be anything, 0 is what
// production has there.
//
//   m NaN or +inf anywhere; every m of one warpgroup -inf     the row is NaN (at level 2: both -inf)
//   a single warpgroup at level 2                             m is not looked at
//   l NaN anywhere; +Inf under a weight of 0                  the row is NaN
//   l +Inf under a weight, or above 2^126                     inv is 0: the element is 0, or NaN where the sum is Inf
//   l below 2^-126, 0 included                                inv is Inf: Inf of the sum's sign, NaN where it is 0
//   O NaN, or Inf under a weight of 0                         the element is NaN
//   O Inf under a weight                                      the element is that Inf, times inv
// Level 1 stops before inv: the sums and l follow the rules above each for itself, m is the largest m that is a number.
// Where the error of the unit or of a sum decides, every outcome that it may have is due.
namespace lsecheck::sm100 {

RowExpectation fa4_ws_expectation(Fa4WsLevel level, const CombineShape& shape, const RowInput& row,
                                  const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
