#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "reference/certified_column.h"
#include "reference/certified_exponents.h"
#include "reference/double_double.h"
#include "reference/grade.h"

namespace lsecheck {

// Grades single elements of a row from enclosures in double-double.
class DoubleDoubleTier {
 public:
  // The weights and L. problem and exponents must outlive what is graded of this row.
  void start_row(const RowProblem& problem, const RowExponents& exponents);

  // nullopt: some question stays open.
  std::optional<ElementGrade> grade(const RowToGrade& row, std::size_t d);

 private:
  void load_column(std::size_t d);

  const RowProblem* problem_ = nullptr;
  const RowExponents* exponents_ = nullptr;
  DoubleDoubleWeights weights_;
  DoubleDouble total_;          // L in the scale of the weights
  double condition_ = 0;        // radius of N / L in units of C / L
  bool has_sums_ = false;       // the weights and L are good
  std::vector<double> values_;  // of the column at hand, one per term
  std::vector<double> sizes_;
};

}  // namespace lsecheck
