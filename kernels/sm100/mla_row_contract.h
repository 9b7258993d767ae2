#pragma once

#include "kernels/combine_kernel.h"

// The special-value contract of the two MLA combines: what a row's LSEs and values make due, the same on every chip.
//
// LSEs: every split empty gives zeros, with any sink; NaN or +inf anywhere gives NaN in every element. (mla_combine
// takes 0 for a maximum of -inf, so that a NaN among empty splits, which the warp maximum of sm_90 and sm_103a drops,
// still reaches the sum; in mla_combine_split_parallel it stays in the accumulator.) +inf minus +inf is NaN in both.
// Values: mla_combine drops what lies under a weight of 0; mla_combine_split_parallel only what lies under an empty
// split.
namespace lsecheck::sm100 {

RowClass mla_row_class(std::span<const float> lse);

// The bound of mla_combine is fa4_row_bound, with row.sink set.
RowExpectation mla_combine_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit);
RowExpectation mla_split_parallel_expectation(const CombineShape& shape, const RowInput& row,
                                              const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
