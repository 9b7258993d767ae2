#pragma once

#include "kernels/combine_kernel.h"

// The a-priori bound of fa4_splitk_combine on one row: a function of the row's LSEs and values, the number of
// partitions and the unit's accuracy. mla_combine folds its weights by the same operations and has the same bound, with
// the sink in the weights. Derived in fa4_splitk_combine_bound.cpp and fa4_weight_error.cpp.
namespace lsecheck::sm100 {

// row.row_class is finite. out: the type that the result is stored in.
RowBound fa4_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
