#include "reference/grade.h"

#include <stdexcept>

namespace lsecheck {

void check_row_shapes(const RowProblem& problem, const RowToGrade& row, std::size_t num_grades) {
  const std::size_t depth = problem.depth;
  const bool partitions =
      problem.a.size() == problem.x.size() * depth && (problem.l.empty() || problem.l.size() == problem.x.size());
  const bool outputs = row.out_bits.size() == depth && row.bound.size() == depth && num_grades == depth &&
                       (row.inf_allowed.empty() || row.inf_allowed.size() == depth);
  if (!partitions || !outputs) {
    throw std::invalid_argument(
        "reference: array sizes do not match [P], [P, D] and [D]; pass x, l as [P], a as [P, D] and "
        "out_bits, bound, inf_allowed, grades as [D]");
  }
}

}  // namespace lsecheck
