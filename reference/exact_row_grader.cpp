#include "reference/exact_row_grader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/element_grading.h"
#include "reference/exact_precision_cap.h"
#include "reference/exact_quotient.h"
#include "reference/exact_sums.h"
#include "reference/metric_grid.h"
#include "reference/mpfr_thread_cache.h"

namespace lsecheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The exponentials of a row and, per level, its L.
class RowSums {
 public:
  explicit RowSums(const RowProblem& problem)
      : terms_(problem), masses_(masses_of(terms_)), sign_(terms_), summer_(terms_, reference_of(problem)) {}

  const ExactTerms& terms() const { return terms_; }
  ExactSign& sign() { return sign_; }
  TermSums numerators(std::span<const double> column, std::size_t level) { return summer_.sum(column, level); }
  const Ball& denominator(std::size_t level) {
    if (denominators_.size() <= level) denominators_.resize(level + 1);
    if (!denominators_[level]) denominators_[level] = summer_.sum(masses_, level).value;
    return *denominators_[level];
  }

 private:
  static std::vector<double> masses_of(const ExactTerms& terms) {
    std::vector<double> masses;
    for (const Term& term : terms.all()) masses.push_back(term.mass);
    return masses;
  }

  // The largest exponential that N or L contains: no weight exceeds 1, and one is 1.
  std::size_t reference_of(const RowProblem& problem) const {
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Term& term = terms_[i];
      bool counts = term.mass > 0;
      for (std::size_t d = 0; !counts && d < problem.depth; ++d)
        counts = problem.a[term.partition * problem.depth + d] != 0;
      if (counts) present.push_back(i);
    }
    if (std::all_of(present.begin(), present.end(), [this](std::size_t i) { return terms_[i].mass == 0; })) {
      throw std::invalid_argument(
          "exact reference: the row has no mass (L = 0); empty rows are decided by the kernel's contract");
    }
    return terms_.dominant(present);
  }

  ExactTerms terms_;
  std::vector<double> masses_;
  ExactSign sign_;
  TermSummer summer_;
  std::vector<std::optional<Ball>> denominators_;
};

// y - x with x = N / L.
Ball difference(double y, const ExactQuotient& x) {
  const mpfr_prec_t precision = mpfr_get_prec(raw(x.ball().mid));
  Ball result(precision);
  const int inexact = mpfr_d_sub(raw(result.mid), y, raw(x.ball().mid), MPFR_RNDN);
  mpfr_set(raw(result.rad), raw(x.ball().rad), MPFR_RNDU);
  if (inexact != 0) {
    Radius rounding;
    mpfr_abs(raw(rounding), raw(result.mid), MPFR_RNDU);
    mpfr_mul_2si(raw(rounding), raw(rounding), -precision, MPFR_RNDU);
    mpfr_add(raw(result.rad), raw(result.rad), raw(rounding), MPFR_RNDU);
  }
  return result;
}

// The grid number of abs(y - x) / unit, unit > 0 and finite; error is the ball around y - x. nullopt: it holds more
// than one end of a cell. A single one is decided by comparing x with y +- end * unit, exactly.
std::optional<double> error_on_grid(const Ball& error, const ExactQuotient& x, double y, double unit) {
  Radius edge;
  mpfr_abs(raw(edge), raw(error.mid), MPFR_RNDD);
  mpfr_sub(raw(edge), raw(edge), raw(error.rad), MPFR_RNDD);
  mpfr_div_d(raw(edge), raw(edge), unit, MPFR_RNDD);
  const double low = metric_on_grid(std::max(mpfr_get_d(raw(edge), MPFR_RNDD), 0.0));
  mpfr_abs(raw(edge), raw(error.mid), MPFR_RNDU);
  mpfr_add(raw(edge), raw(edge), raw(error.rad), MPFR_RNDU);
  mpfr_div_d(raw(edge), raw(edge), unit, MPFR_RNDU);
  const double high = metric_on_grid(mpfr_get_d(raw(edge), MPFR_RNDU));
  if (low == high) return low;
  if (metric_grid_next(low) != high) return std::nullopt;
  const double end = metric_cell_top(low);
  return x.compare({y, unit, end}) <= 0 && x.compare({y, -unit, end}) >= 0 ? low : high;
}

// The answers of one level of the ladder: all of them, except a metric whose ball holds several ends of cells.
class ExactAnswers {
 public:
  ExactAnswers(const ExactQuotient& x, const ExactQuotient& scale, DType type) : x_(x), scale_(scale), type_(type) {}

  std::optional<std::uint32_t> rounded() const { return x_.rounded(type_); }
  std::optional<double> ulp() const { return x_.ulp(type_); }
  std::optional<double> scale_ulp() const { return scale_.ulp(type_); }
  std::optional<bool> equals(double y) const { return x_.equals({y}); }
  std::optional<bool> reaches(double sign, double threshold, double bound) const {
    return sign > 0 ? x_.compare({threshold, -bound}) >= 0 : x_.compare({-threshold, bound}) <= 0;
  }
  std::optional<double> on_grid(double y, double unit) const { return error_on_grid(difference(y, x_), x_, y, unit); }

 private:
  const ExactQuotient& x_;
  const ExactQuotient& scale_;
  DType type_;
};

std::optional<ElementGrade> grade_at_level(RowSums& row, std::span<const double> column,
                                           std::span<const double> magnitudes, const OutputElement& output,
                                           std::size_t level) {
  const Ball& denominator = row.denominator(level);
  if (denominator.contains_zero()) return std::nullopt;
  const TermSums sums = row.numerators(column, level);
  const ExactQuotient x(row.sign(), column, quotient(sums.value, denominator));
  const ExactQuotient scale(row.sign(), magnitudes, quotient(sums.magnitude, denominator));
  if (!x.is_narrow(output.type) || !scale.is_narrow(output.type)) return std::nullopt;
  return grade_element(ExactAnswers(x, scale, output.type), output);
}

ElementGrade undecided_grade() {
  ElementGrade grade;
  grade.bound_use = kInfinity;
  grade.within_bound = false;
  grade.undecided = true;
  return grade;
}

ElementGrade grade_column(RowSums& row, std::span<const double> column, std::span<const double> magnitudes,
                          const OutputElement& output) {
  try {
    for (std::size_t level = 0; level < kPrecisionLadder.size(); ++level) {
      if (const std::optional<ElementGrade> grade = grade_at_level(row, column, magnitudes, output, level))
        return *grade;
    }
  } catch (const PrecisionCapReached&) {
    return undecided_grade();
  }
  return undecided_grade();
}

void check_element(double value, const OutputElement& output) {
  if (!std::isfinite(value)) {
    throw std::invalid_argument(
        "exact reference: a value a_p[d] of a non-empty partition is not finite; decide it by the kernel's contract");
  }
  if (!(output.bound >= 0))
    throw std::invalid_argument("exact reference: a bound is negative or NaN; bounds are absolute errors >= 0");
  if (is_nan(output.type, output.bits)) {
    throw std::invalid_argument("exact reference: an output is NaN; decide it by the kernel's contract before grading");
  }
}

}  // namespace

class ExactRowGrader::Impl {
 public:
  Impl(const RowProblem& problem, const RowToGrade& row) : problem_(problem), row_(row), sums_(problem) {
    free_mpfr_cache_at_thread_end();
    column_.resize(sums_.terms().size());
    magnitudes_.resize(sums_.terms().size());
  }

  ElementGrade grade(std::size_t d) {
    const std::vector<Term>& terms = sums_.terms().all();
    const OutputElement output = output_element(row_, d);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      column_[i] = terms[i].partition == kNoPartition ? 0.0 : problem_.a[terms[i].partition * problem_.depth + d];
      magnitudes_[i] = std::fabs(column_[i]);
      check_element(column_[i], output);
    }
    return grade_column(sums_, column_, magnitudes_, output);
  }

 private:
  const RowProblem& problem_;
  const RowToGrade& row_;
  RowSums sums_;
  std::vector<double> column_;
  std::vector<double> magnitudes_;
};

ExactRowGrader::ExactRowGrader(const RowProblem& problem, const RowToGrade& row)
    : impl_(std::make_unique<Impl>(problem, row)) {}

ExactRowGrader::~ExactRowGrader() = default;

ElementGrade ExactRowGrader::grade(std::size_t d) {
  return impl_->grade(d);
}

}  // namespace lsecheck
