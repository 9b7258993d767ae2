#pragma once

#include <cstddef>
#include <memory>

#include "reference/grade.h"

namespace lsecheck {

// Grades single elements of a row exactly. What elements share, the exponentials and L, is computed once, on demand.
class ExactRowGrader {
 public:
  // problem and row must outlive the grader. Throws std::invalid_argument when the row is outside the domain that
  // row_problem.h and grade.h state; of the values a_p[d] only when they are graded.
  ExactRowGrader(const RowProblem& problem, const RowToGrade& row);
  ~ExactRowGrader();

  ElementGrade grade(std::size_t d);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lsecheck
