#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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
  std::optional<ElementGrade> grade(const RowToGrade& row, std::size_t d) const;

 private:
  struct Column;

  double value(std::size_t i, std::size_t d) const;
  std::optional<double> common_value(std::size_t d) const;
  Column sum_column(std::size_t d) const;

  const RowProblem* problem_ = nullptr;
  const RowExponents* exponents_ = nullptr;
  std::vector<DoubleDouble> weight_;  // 2^(exponent + 700); {0, 0} for tiny terms
  DoubleDouble total_;                // L in that scale
  double condition_ = 0;              // radius of N / L in units of C / L
  bool has_sums_ = false;             // the weights and L are good
};

}  // namespace lsecheck
