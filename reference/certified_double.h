#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reference/certified_exponents.h"
#include "reference/grade.h"

namespace lsecheck {

// Grades a row in double, four elements at a time: every answer is an enclosure, and an element of which some question
// stays open is left for others.
class DoubleTier {
 public:
  // Grades what it can and appends the indices of the other elements to `open`. exponents are those of problem.
  void grade_row(const RowProblem& problem, const RowToGrade& row, const RowExponents& exponents,
                 std::span<ElementGrade> grades, std::vector<std::size_t>& open);

 private:
  bool weigh(const RowExponents& exponents);
  void list_rows(const RowProblem& problem, const RowExponents& exponents);
  void sum_columns(const RowProblem& problem);
  void copy_rest(const RowProblem& problem, std::size_t begin);
  void sum_tiny(const RowProblem& problem);

  // Of terms: 2^(exponent + 700), 0 for tiny ones.
  std::vector<double> weight_;
  // Of partitions that are not tiny, their weights and where their values start; the tiny ones apart.
  std::vector<double> row_weight_;
  std::vector<std::size_t> row_start_;
  std::vector<std::size_t> tiny_start_;
  std::vector<double> tree_;
  // Of columns, padded to a multiple of 16: sum w a, sum w abs(a), and sum abs(a) over the tiny partitions.
  std::vector<double> sum_;
  std::vector<double> size_;
  std::vector<double> tiny_;
  std::vector<double> rest_;  // the last columns, where fewer than 16
  std::vector<std::size_t> rest_start_;

  double inverse_ = 0;    // 1 / L
  double condition_ = 0;  // radius of N / L in units of C / L
  double floor_ = 0;      // what underflow adds to it
};

}  // namespace lsecheck
