#pragma once

#include "kernels/combine_kernel.h"

// The special-value contract of mha_splitk_reduce, the same on every chip, and its a-priori bound.
//
// Rows: NaN or +inf among the maxima, NaN or Inf among the masses, every maximum -inf, every weight 0: NaN in every
// element. The maximum M counts empty partitions too, so a stale one far above the rest can make every weight 0. Where
// the sum of the weights is below 2^-128 its reciprocal is Inf, and every element Inf or NaN.
// Values: NaN under a weight above 0 gives NaN; Inf gives NaN as well, through the compensation, unless its partition
// is the last. Under a weight of 0 anything is dropped.
namespace lsecheck::sm100 {

// Masses are not negative. Empty partitions with a finite maximum stay in the row problem with a mass of 0, because the
// bound depends on them.
RowExpectation mha_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit);

RowBound mha_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
