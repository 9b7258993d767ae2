#include "reference/exact_log_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "reference/exact_precision_cap.h"
#include "reference/exact_quotient.h"
#include "reference/exact_sums.h"

namespace lsecheck {
namespace {

// Terms with mass; the others are not part of L.
std::vector<Term> massive_terms(const RowProblem& problem) {
  const ExactTerms all(problem);
  std::vector<Term> massive;
  std::copy_if(all.all().begin(), all.all().end(), std::back_inserter(massive),
               [](const Term& term) { return term.mass > 0; });
  if (massive.empty()) {
    throw std::invalid_argument("exact reference: the row has no mass (L = 0), so its log-sum-exp is -inf by contract");
  }
  return massive;
}

std::vector<double> masses_of(const std::vector<Term>& terms) {
  std::vector<double> masses(terms.size());
  std::ranges::transform(terms, masses.begin(), &Term::mass);
  return masses;
}

// The sign of log2 L - t: that of L - 2^t, where 2^t joins the row as one more term.
int compare_log_sum(const std::vector<Term>& massive, double t) {
  std::vector<Term> terms = massive;
  std::vector<double> coefficients = masses_of(terms);
  terms.push_back({TermBase::log2, t, 0.0, kNoPartition});
  coefficients.push_back(-1.0);
  ExactTerms extended(std::move(terms));
  return ExactSign(extended).compare(coefficients, {0});
}

// log2 L for L = l * 2^e, e the reference's exponent. With u = 2^-precision: l is known to rad_l, which moves log2 l by
// at most log2 e * rad_l / (l - rad_l) < 2 rad_l / (l - rad_l); log2 l rounds by u relative; e is exact or off by
// 2^-(precision + 32) at most; the sum, at its own precision w, rounds by 2^-w relative.
Ball log_of(const Ball& l, const ExponentDifference& exponent, mpfr_prec_t precision) {
  Mp logarithm = make_mp(precision);
  Radius part;
  const bool inexact_log = mpfr_log2(raw(logarithm), raw(l.mid), MPFR_RNDN) != 0;
  Ball result(precision + mpfr_get_prec(raw(exponent.value)) + 64);
  const bool inexact_sum = mpfr_add(raw(result.mid), raw(exponent.value), raw(logarithm), MPFR_RNDN) != 0;

  if (!l.is_exact()) {
    mpfr_sub(raw(part), raw(l.mid), raw(l.rad), MPFR_RNDD);
    mpfr_div(raw(result.rad), raw(l.rad), raw(part), MPFR_RNDU);
    mpfr_mul_2si(raw(result.rad), raw(result.rad), 1, MPFR_RNDU);
  }
  const auto add_relative = [&](const Mp& value, long bits) {
    mpfr_abs(raw(part), raw(value), MPFR_RNDU);
    mpfr_mul_2si(raw(part), raw(part), -bits, MPFR_RNDU);
    mpfr_add(raw(result.rad), raw(result.rad), raw(part), MPFR_RNDU);
  };
  if (inexact_log) add_relative(logarithm, precision);
  if (inexact_sum) add_relative(result.mid, mpfr_get_prec(raw(result.mid)));
  if (!exponent.exact) {
    mpfr_set_ui_2exp(raw(part), 1, -(precision + 32), MPFR_RNDU);
    mpfr_add(raw(result.rad), raw(result.rad), raw(part), MPFR_RNDU);
  }
  return result;
}

struct Ends {
  Mp low, high;
  explicit Ends(const Ball& ball) : low(make_mp(mpfr_get_prec(raw(ball.mid)))), high(low) {
    mpfr_sub(raw(low), raw(ball.mid), raw(ball.rad), MPFR_RNDD);
    mpfr_add(raw(high), raw(ball.mid), raw(ball.rad), MPFR_RNDU);
    if (mpfr_zero_p(raw(low)) != 0) mpfr_set_zero(raw(low), 1);
  }
};

// log2 L rounded to nearest even; nullopt when the ends round to numbers that are not neighbours.
std::optional<std::uint32_t> rounded(const Ends& ends, const std::vector<Term>& massive) {
  const std::uint32_t below = round_to_nearest_even(DType::f32, round_to_odd(ends.low));
  const std::uint32_t above = round_to_nearest_even(DType::f32, round_to_odd(ends.high));
  if (below == above) return below;
  if (ordinal(DType::f32, above) - ordinal(DType::f32, below) > 1) return std::nullopt;
  double between = (decode(DType::f32, below) + decode(DType::f32, above)) / 2;
  if (!std::isfinite(between)) between = std::copysign(overflow_threshold(DType::f32), between);
  const int side = compare_log_sum(massive, between);
  if (side != 0) return side < 0 ? below : above;
  return round_to_nearest_even(DType::f32, between);
}

double error_bound(const Ends& ends, const std::vector<Term>& massive, double lse) {
  if (std::isinf(lse)) return std::numeric_limits<double>::infinity();
  const bool inside = mpfr_cmp_d(raw(ends.low), lse) <= 0 && mpfr_cmp_d(raw(ends.high), lse) >= 0;
  if (inside && compare_log_sum(massive, lse) == 0) return 0;
  Radius above;
  Radius below;
  mpfr_sub_d(raw(above), raw(ends.high), lse, MPFR_RNDU);
  mpfr_d_sub(raw(below), lse, raw(ends.low), MPFR_RNDU);
  mpfr_max(raw(above), raw(above), raw(below), MPFR_RNDU);
  return mpfr_get_d(raw(above), MPFR_RNDU);
}

}  // namespace

Reference::RoundedLse exact_log_sum_exp2(const RowProblem& problem) {
  const std::vector<Term> massive = massive_terms(problem);
  ExactTerms terms(massive);
  std::vector<std::size_t> indices(massive.size());
  for (std::size_t i = 0; i < massive.size(); ++i) indices[i] = i;
  const std::vector<double> masses = masses_of(massive);
  const std::size_t reference = terms.dominant(indices);
  TermSummer summer(terms, reference);
  for (std::size_t level = 0; level < kPrecisionLadder.size(); ++level) {
    const mpfr_prec_t precision = kPrecisionLadder[level];
    const Ball l = summer.sum(masses, level).value;
    const Ends ends(log_of(l, exponent_difference(terms[reference], nullptr, precision + 32), precision));
    const std::optional<std::uint32_t> bits = rounded(ends, massive);
    if (!bits) continue;
    const double lse = decode(DType::f32, *bits);
    return {static_cast<float>(lse), error_bound(ends, massive, lse)};
  }
  throw PrecisionCapReached();
}

}  // namespace lsecheck
