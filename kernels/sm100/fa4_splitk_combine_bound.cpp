#include "kernels/sm100/fa4_splitk_combine_bound.h"

#include <algorithm>

#include "kernels/sm100/fa4_bound_steps.h"
#include "kernels/sm100/fa4_weight_error.h"

namespace lsecheck::sm100 {

RowBound fa4_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit) {
  const std::size_t depth = row.due.size();
  const std::vector<Fa4PartitionWeight> weights = fa4_weight_errors(row.x, unit, row.sink);
  const auto folded = static_cast<std::uint64_t>(std::count_if(weights.begin(), weights.end(), is_folded));
  std::uint64_t folded_from_here = folded;
  std::vector<Fa4ColumnSums> sums(depth);
  for (std::size_t p = 0; p < weights.size(); ++p) {
    const Fa4PartitionWeight& w = weights[p];
    if (w.fate == WeightFate::empty) continue;
    const double factor = error_factor(w, folded_from_here);
    if (is_folded(w)) --folded_from_here;
    for (std::size_t d = 0; d < depth; ++d) sums[d].add(factor, w, row.a[p * depth + d]);
  }

  RowBound result;
  result.bound.resize(depth);
  result.bound_before_cast.resize(depth);
  result.inf_allowed.resize(depth);
  for (std::size_t d = 0; d < depth; ++d) {
    const ColumnBound column = column_bound(sums[d], folded, out);
    result.bound[d] = column.bound;
    result.bound_before_cast[d] = column.before_cast;
    result.inf_allowed[d] = column.inf_allowed;
  }
  return result;
}

}  // namespace lsecheck::sm100
