#pragma once

#include "kernels/combine_kernel.h"

// The a-priori bound and the special-value contract of mla_combine_split_parallel on one row. Derived in
// mla_split_parallel_bound.cpp.
namespace lsecheck::sm100 {

// row.row_class is finite. out: the type that the result is stored in.
RowBound split_parallel_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit);

// A row of class finite: the row problem and what is due element by element. Nothing is dropped but empty splits: NaN
// stays NaN; Inf stays Inf unless a factor on its way is 0.
RowExpectation split_parallel_expectation(const CombineShape& shape, const RowInput& row,
                                          const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
