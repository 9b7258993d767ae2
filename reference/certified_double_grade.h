#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reference/grade.h"

namespace lsecheck {

// Enclosures of x and C / L of every column of a row, not yet divided by L:
//   abs(x - sum * inverse), abs(C / L - size * inverse) <= condition * size * inverse + 1.03 * tiny * inverse + floor,
// rounded in double with one rounding for the ends to spare; where size = tiny = 0, x = C = 0.
struct ColumnEnclosures {
  std::span<const double> sum;   // [D], padded to a multiple of 4 like size and tiny
  std::span<const double> size;  // >= abs(sum)
  std::span<const double> tiny;
  double inverse;
  double condition;
  double floor;
};

// Grades the elements whose every question the enclosures decide; appends the indices of the others to `open`.
void grade_columns(const ColumnEnclosures& columns, const RowToGrade& row, std::span<ElementGrade> grades,
                   std::vector<std::size_t>& open);

}  // namespace lsecheck
