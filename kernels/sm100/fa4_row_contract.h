#pragma once

#include "kernels/combine_kernel.h"

// The special-value contract of fa4_splitk_combine: what a row's LSEs and values make due, per chip and per compiled
// partition count.
namespace lsecheck::sm100 {

// Which of three things the row's LSEs decide: every partition empty as the kernel sees it (zeros), NaN everywhere, or
// a finite row. NaN and +inf LSEs count; p_static sets how many slots a lane has (an unused slot holds -inf and hides a
// NaN beside it).
RowClass fa4_row_class(std::span<const float> lse, Arch arch, int p_static);

// A row of class finite: the row problem and what is due element by element, for every combine that drops a partition
// of weight 0 and folds the others by fma (fa4_splitk_combine, mla_combine). row.sink: for mla_combine.
RowExpectation select_fold_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit);

RowExpectation fa4_expectation(const CombineShape& shape, int p_static, const RowInput& row,
                               const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
