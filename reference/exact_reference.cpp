#include "reference/exact_log_sum.h"
#include "reference/exact_row_grader.h"
#include "reference/grade.h"
#include "reference/mpfr_thread_cache.h"

namespace lsecheck {
namespace {

class ExactReference final : public Reference {
 public:
  const char* name() const override { return "exact"; }

  void grade_row(const RowProblem& problem, const RowToGrade& row, std::span<ElementGrade> grades) override {
    check_row_shapes(problem, row, grades.size());
    ExactRowGrader grader(problem, row);
    for (std::size_t d = 0; d < problem.depth; ++d) grades[d] = grader.grade(d);
  }

  RoundedLse log_sum_exp2(const RowProblem& problem) override {
    free_mpfr_cache_at_thread_end();
    return exact_log_sum_exp2(problem);
  }
};

}  // namespace

std::unique_ptr<Reference> make_exact_reference() {
  return std::make_unique<ExactReference>();
}

}  // namespace lsecheck
