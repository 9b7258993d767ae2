#include "reference/certified_reference.h"

#include <numeric>
#include <optional>
#include <vector>

#include "reference/certified_double.h"
#include "reference/certified_double_double.h"
#include "reference/certified_exponents.h"
#include "reference/exact_log_sum.h"
#include "reference/exact_row_grader.h"
#include "reference/mpfr_thread_cache.h"

namespace lsecheck {
namespace {

class CertifiedReference final : public Reference {
 public:
  explicit CertifiedReference(TierCounts* counts) : counts_(counts != nullptr ? *counts : unread_counts_) {}

  const char* name() const override { return "certified"; }

  void grade_row(const RowProblem& problem, const RowToGrade& row, std::span<ElementGrade> grades) override {
    check_row_shapes(problem, row, grades.size());
    counts_.elements += problem.depth;
    open_.clear();
    const bool in_domain = exponents_.build(problem);
    if (in_domain) {
      double_.grade_row(problem, row, exponents_, grades, open_);
    } else {
      open_.resize(problem.depth);
      std::iota(open_.begin(), open_.end(), std::size_t{0});
    }
    counts_.left_double += open_.size();
    if (open_.empty()) return;
    if (in_domain) grade_in_double_double(problem, row, grades);
    counts_.left_double_double += open_.size();
    if (open_.empty()) return;
    ExactRowGrader exact(problem, row);
    for (const std::size_t d : open_) grades[d] = exact.grade(d);
  }

  RoundedLse log_sum_exp2(const RowProblem& problem) override {
    free_mpfr_cache_at_thread_end();
    return exact_log_sum_exp2(problem);
  }

 private:
  void grade_in_double_double(const RowProblem& problem, const RowToGrade& row, std::span<ElementGrade> grades) {
    double_double_.start_row(problem, exponents_);
    std::erase_if(open_, [&](std::size_t d) {
      const std::optional<ElementGrade> grade = double_double_.grade(row, d);
      if (grade) grades[d] = *grade;
      return grade.has_value();
    });
  }

  TierCounts unread_counts_;
  TierCounts& counts_;
  RowExponents exponents_;
  DoubleTier double_;
  DoubleDoubleTier double_double_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::unique_ptr<Reference> make_certified_reference(TierCounts* counts) {
  return std::make_unique<CertifiedReference>(counts);
}

}  // namespace lsecheck
