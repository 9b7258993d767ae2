#include "kernels/sm100/mla_row_contract.h"

#include <cmath>

#include "kernels/sm100/fa4_row_contract.h"
#include "kernels/sm100/mla_split_parallel_bound.h"

namespace lsecheck::sm100 {

namespace {

template <class FiniteRow>
RowExpectation expectation_of(const RowInput& row, const FiniteRow& finite_row) {
  RowExpectation expectation;
  expectation.row_class = mla_row_class(row.lse);
  return expectation.row_class == RowClass::finite ? finite_row() : expectation;
}

}  // namespace

RowClass mla_row_class(std::span<const float> lse) {
  bool all_empty = true;
  for (const float value : lse) {
    if (std::isnan(value) || value == INFINITY) return RowClass::all_nan;
    all_empty = all_empty && value == -INFINITY;
  }
  return all_empty ? RowClass::zeros : RowClass::finite;
}

RowExpectation mla_combine_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit) {
  return expectation_of(row, [&] { return select_fold_expectation(shape, row, unit); });
}

RowExpectation mla_split_parallel_expectation(const CombineShape& shape, const RowInput& row,
                                              const sfu::UnitAccuracy& unit) {
  return expectation_of(row, [&] { return split_parallel_expectation(shape, row, unit); });
}

}  // namespace lsecheck::sm100
