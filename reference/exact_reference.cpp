#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "reference/exact_log_sum.h"
#include "reference/exact_precision_cap.h"
#include "reference/exact_quotient.h"
#include "reference/exact_sums.h"
#include "reference/grade.h"

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

struct Output {
  DType type;
  std::uint32_t bits;
  double bound;
  bool inf_allowed;
};

// y - x with x = N / L, zero only where it is zero.
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
  if (!result.is_exact() && result.contains_zero() && x.equals({y})) {
    mpfr_set_zero(raw(result.mid), 1);
    mpfr_set_zero(raw(result.rad), 1);
  }
  return result;
}

bool is_zero(const Ball& ball) {
  return ball.is_exact() && mpfr_zero_p(raw(ball.mid)) != 0;
}

// abs(y - x) <= bound. The ball decides unless the bound cuts it; then x is compared with y - bound and y + bound,
// which are exact.
bool is_within(const Ball& error, const ExactQuotient& x, double y, double bound) {
  if (bound == kInfinity || is_zero(error)) return true;
  Radius edge;
  mpfr_abs(raw(edge), raw(error.mid), MPFR_RNDU);
  mpfr_add(raw(edge), raw(edge), raw(error.rad), MPFR_RNDU);
  if (mpfr_cmp_d(raw(edge), bound) <= 0) return true;
  mpfr_abs(raw(edge), raw(error.mid), MPFR_RNDD);
  mpfr_sub(raw(edge), raw(edge), raw(error.rad), MPFR_RNDD);
  if (mpfr_cmp_d(raw(edge), bound) > 0) return false;
  return x.compare({y, bound}) <= 0 && x.compare({y, -bound}) >= 0;
}

// abs(y - x) / bound rounded upward; nullopt when the ball is too wide to be called a rounding of it.
std::optional<double> bound_use(const Ball& error, double bound) {
  if (is_zero(error) || bound == kInfinity) return 0.0;
  if (bound == 0) return kInfinity;
  Radius magnitude;
  Radius allowed;
  mpfr_abs(raw(magnitude), raw(error.mid), MPFR_RNDU);
  mpfr_set_d(raw(allowed), bound, MPFR_RNDD);
  mpfr_max(raw(allowed), raw(allowed), raw(magnitude), MPFR_RNDD);
  mpfr_mul_2si(raw(allowed), raw(allowed), -60, MPFR_RNDD);
  if (mpfr_greater_p(raw(error.rad), raw(allowed)) != 0) return std::nullopt;
  mpfr_add(raw(magnitude), raw(magnitude), raw(error.rad), MPFR_RNDU);
  mpfr_div_d(raw(magnitude), raw(magnitude), bound, MPFR_RNDU);
  return mpfr_get_d(raw(magnitude), MPFR_RNDU);
}

double in_units_of(const Ball& error, double ulp) {
  Radius value;
  mpfr_div_d(raw(value), raw(error.mid), ulp, MPFR_RNDN);
  return mpfr_get_d(raw(value), MPFR_RNDN);
}

// Inf with the sign of s may be stored: x moved by the bound reaches the threshold, or the kernel's own sums may have
// overflowed (never to the sign opposite to an Inf that is due).
bool is_inf_permitted(const ExactQuotient& x, const Output& output, std::uint32_t correctly_rounded, double s) {
  if (output.inf_allowed && !is_inf(output.type, correctly_rounded)) return true;
  if (output.bound == kInfinity) return true;
  const double threshold = overflow_threshold(output.type);
  return s > 0 ? x.compare({threshold, -output.bound}) >= 0 : x.compare({-threshold, output.bound}) <= 0;
}

std::optional<ElementGrade> grade_value(const ExactQuotient& x, const ExactQuotient& scale, const Output& output,
                                        double y, ElementGrade grade) {
  const Ball error = difference(y, x);
  const std::optional<double> use = bound_use(error, output.bound);
  if (!use) return std::nullopt;
  grade.signed_ulp = in_units_of(error, x.ulp(output.type));
  grade.ulp = std::fabs(grade.signed_ulp);
  grade.scaled_ulp = std::fabs(in_units_of(error, scale.ulp(output.type)));
  grade.within_bound = is_within(error, x, y, output.bound);
  grade.bound_use = grade.within_bound ? std::min(*use, 1.0) : *use;
  return grade;
}

std::optional<ElementGrade> grade_infinity(const ExactQuotient& x, const ExactQuotient& scale, const Output& output,
                                           ElementGrade grade) {
  if (grade.steps == 0) return grade;  // Inf of this sign is due
  const double sign = decode(output.type, output.bits) > 0 ? 1.0 : -1.0;
  if (!is_inf_permitted(x, output, grade.correctly_rounded, sign)) {
    grade.ulp = grade.scaled_ulp = grade.bound_use = kInfinity;
    grade.signed_ulp = sign * kInfinity;
    grade.within_bound = false;
    return grade;
  }
  const double next = std::ldexp(sign, format_of(output.type).max_exponent + 1);
  std::optional<ElementGrade> result = grade_value(x, scale, output, next, grade);
  if (!result) return std::nullopt;
  result->within_bound = true;
  result->bound_use = std::min(result->bound_use, 1.0);
  return result;
}

std::optional<ElementGrade> grade_at_level(RowSums& row, std::span<const double> column,
                                           std::span<const double> magnitudes, const Output& output,
                                           std::size_t level) {
  const Ball& denominator = row.denominator(level);
  if (denominator.contains_zero()) return std::nullopt;
  const TermSums sums = row.numerators(column, level);
  const ExactQuotient x(row.sign(), column, quotient(sums.value, denominator));
  const ExactQuotient scale(row.sign(), magnitudes, quotient(sums.magnitude, denominator));
  if (!x.is_narrow(output.type) || !scale.is_narrow(output.type)) return std::nullopt;
  ElementGrade grade;
  grade.correctly_rounded = x.rounded(output.type);
  grade.steps = std::abs(ordinal(output.type, output.bits) - ordinal(output.type, grade.correctly_rounded));
  if (is_inf(output.type, output.bits)) return grade_infinity(x, scale, output, grade);
  return grade_value(x, scale, output, decode(output.type, output.bits), grade);
}

ElementGrade undecided_grade() {
  ElementGrade grade;
  grade.bound_use = kInfinity;
  grade.within_bound = false;
  grade.undecided = true;
  return grade;
}

ElementGrade grade_element(RowSums& row, std::span<const double> column, std::span<const double> magnitudes,
                           const Output& output) {
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

void check_shapes(const RowProblem& problem, const RowToGrade& row, std::size_t num_grades) {
  const std::size_t depth = problem.depth;
  const bool partitions =
      problem.a.size() == problem.x.size() * depth && (problem.l.empty() || problem.l.size() == problem.x.size());
  const bool outputs = row.out_bits.size() == depth && row.bound.size() == depth && num_grades == depth &&
                       (row.inf_allowed.empty() || row.inf_allowed.size() == depth);
  if (!partitions || !outputs) {
    throw std::invalid_argument(
        "exact reference: array sizes do not match [P], [P, D] and [D]; pass x, l as [P], a as [P, D] and "
        "out_bits, bound, inf_allowed, grades as [D]");
  }
}

void check_element(double value, const Output& output) {
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

// MPFR keeps its constants and scratch numbers per thread; a thread that has used it frees them as it ends.
struct MpfrCacheOfThread {
  ~MpfrCacheOfThread() { mpfr_free_cache(); }
  void use() const {}  // constructs it on this thread
};
thread_local const MpfrCacheOfThread mpfr_cache_of_thread;

class ExactReference final : public Reference {
 public:
  const char* name() const override { return "exact"; }

  void grade_row(const RowProblem& problem, const RowToGrade& row, std::span<ElementGrade> grades) override {
    mpfr_cache_of_thread.use();
    check_shapes(problem, row, grades.size());
    RowSums sums(problem);
    const std::vector<Term>& terms = sums.terms().all();
    std::vector<double> column(terms.size());
    std::vector<double> magnitudes(terms.size());
    for (std::size_t d = 0; d < problem.depth; ++d) {
      const Output output{row.out, row.out_bits[d], row.bound[d], !row.inf_allowed.empty() && row.inf_allowed[d] != 0};
      for (std::size_t i = 0; i < terms.size(); ++i) {
        column[i] = terms[i].partition == kNoPartition ? 0.0 : problem.a[terms[i].partition * problem.depth + d];
        magnitudes[i] = std::fabs(column[i]);
        check_element(column[i], output);
      }
      grades[d] = grade_element(sums, column, magnitudes, output);
    }
  }

  RoundedLse log_sum_exp2(const RowProblem& problem) override {
    mpfr_cache_of_thread.use();
    return exact_log_sum_exp2(problem);
  }
};

}  // namespace

std::unique_ptr<Reference> make_exact_reference() {
  return std::make_unique<ExactReference>();
}

}  // namespace lsecheck
