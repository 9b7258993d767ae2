#include "reference/exact_terms.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace lsecheck {
namespace {

// The difference of two doubles spans bits 2^1024 .. 2^-1074.
constexpr mpfr_prec_t kDifferencePrecision = 2112;

[[noreturn]] void reject(const char* what) {
  throw std::invalid_argument(std::string("exact reference: ") + what +
                              "; decide special values by the kernel's contract before grading the row");
}

// a - b without error. Doubles close to each other, the common case, need no more than a double.
Mp exact_difference(double a, double b) {
  const double difference = a - b;
  const double b_part = a - difference;
  const double residual = (a - (difference + b_part)) + (b_part - b);  // TwoSum: the rounding error of the subtraction
  if (residual == 0 && std::isfinite(difference)) {
    Mp value = make_mp(53);
    mpfr_set_d(raw(value), difference, MPFR_RNDN);
    return value;
  }
  Mp value = make_mp(kDifferencePrecision);
  mpfr_set_d(raw(value), a, MPFR_RNDN);
  if (mpfr_sub_d(raw(value), raw(value), b, MPFR_RNDN) != 0)
    throw std::logic_error("a difference of doubles was rounded");
  mpfr_prec_round(raw(value), std::max<mpfr_prec_t>(mpfr_min_prec(raw(value)), 2), MPFR_RNDN);
  return value;
}

mpfr_exp_t exponent_or_zero(const Mp& value) {
  return mpfr_zero_p(raw(value)) != 0 ? 0 : std::max<mpfr_exp_t>(mpfr_get_exp(raw(value)), 0);
}

double part(const Term* term, TermBase base) {
  return term != nullptr && term->base == base ? term->x : 0.0;
}

Term canonical(TermBase base, double x, double mass, std::size_t partition) {
  return {x == 0 ? TermBase::log2 : base, x, mass, partition};
}

}  // namespace

ExponentDifference exponent_difference(const Term& term, const Term* reference, long absolute_bits) {
  Mp binary = exact_difference(part(&term, TermBase::log2), part(reference, TermBase::log2));
  const Mp natural = exact_difference(part(&term, TermBase::natural), part(reference, TermBase::natural));
  if (mpfr_zero_p(raw(natural)) != 0) return {std::move(binary), true};
  // value = binary + natural / ln 2 at W bits, abs(binary), abs(natural) < 2^h: ln 2 and the quotient round by at most
  // 2^-W relative each (together below 2.01 * 2^-W on a quotient below 1.45 * 2^h), the sum, below 2.45 * 2^h, by 2^-W
  // relative. Together below 6 * 2^(h - W) < 2^(h + 3 - W).
  const long height = std::max(exponent_or_zero(binary), exponent_or_zero(natural));
  const mpfr_prec_t precision = height + 3 + absolute_bits;
  Mp value = make_mp(precision);
  mpfr_const_log2(raw(value), MPFR_RNDN);
  mpfr_div(raw(value), raw(natural), raw(value), MPFR_RNDN);
  mpfr_add(raw(value), raw(value), raw(binary), MPFR_RNDN);
  return {std::move(value), false};
}

ExactTerms::ExactTerms(const RowProblem& problem) {
  const bool natural = problem.base == ExponentBase::natural;
  for (std::size_t p = 0; p < problem.x.size(); ++p) {
    const double x = problem.x[p];
    if (std::isnan(x) || x == HUGE_VAL) reject("an exponent is NaN or +inf");
    if (x == -HUGE_VAL) continue;
    const double mass = problem.l.empty() ? 1.0 : problem.l[p];
    if (!(mass >= 0) || std::isinf(mass)) reject("a mass is negative, infinite or NaN");
    terms_.push_back(canonical(natural ? TermBase::natural : TermBase::log2, x, mass, p));
  }
  if (!problem.sink || *problem.sink == -HUGE_VAL) return;
  if (!std::isfinite(*problem.sink)) reject("the sink is NaN or +inf");
  terms_.push_back(canonical(TermBase::natural, *problem.sink, 1.0, kNoPartition));
}

std::size_t ExactTerms::dominant(std::span<const std::size_t> among) const {
  std::optional<std::size_t> best[2];
  for (const std::size_t i : among) {
    std::optional<std::size_t>& kind = best[terms_[i].base == TermBase::natural];
    if (!kind || terms_[i].x > terms_[*kind].x) kind = i;
  }
  if (!best[0] || !best[1]) return best[0] ? *best[0] : best[1].value();
  const ExponentDifference difference = exponent_difference(terms_[*best[1]], &terms_[*best[0]], 64);
  return mpfr_sgn(raw(difference.value)) > 0 ? *best[1] : *best[0];
}

const Weight& ExactTerms::weight(std::size_t reference, std::size_t level, std::size_t i) {
  std::vector<Weight>& row = weights_[{reference, level}];
  if (row.empty()) row.resize(terms_.size());
  if (row[i].state == Weight::State::unset) compute_weight(reference, kPrecisionLadder[level], i, row[i]);
  return row[i];
}

// With an exact exponent mpfr_exp2 rounds the weight correctly: an error of at most half an ulp, 2^-precision relative.
// An exponent off by 2^-(precision + 32) changes the weight by 2^-(precision + 32) * ln 2 * 1.01 relative, so together
// it stays below 2 * 2^-precision.
void ExactTerms::compute_weight(std::size_t reference, mpfr_prec_t precision, std::size_t i, Weight& weight) const {
  const ExponentDifference exponent = exponent_difference(terms_[i], &terms_[reference], precision + 32);
  if (mpfr_cmp_si(raw(exponent.value), kNegligibleBits) > 0) throw std::logic_error("a weight exceeds its reference");
  if (mpfr_cmp_si(raw(exponent.value), -kNegligibleBits) < 0) {
    weight.state = Weight::State::negligible;
    return;
  }
  weight.value = make_mp(precision);
  const int inexact = mpfr_exp2(raw(weight.value), raw(exponent.value), MPFR_RNDN);
  weight.exact = exponent.exact && inexact == 0;
  weight.state = Weight::State::value;
}

const std::vector<TermClass>& ExactTerms::classes() {
  if (classes_.empty()) build_classes();
  return classes_;
}

void ExactTerms::build_classes() {
  // log2 terms: exponents relative to the first such term, split into integer part and fraction in [0, 1), both exact.
  // Natural terms: the exponent itself is the key.
  struct Keyed {
    bool natural;
    Mp key;
    TermClass::Member member;
  };
  std::vector<Keyed> keyed;
  const auto anchor =
      std::find_if(terms_.begin(), terms_.end(), [](const Term& t) { return t.base == TermBase::log2; });
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const bool natural = terms_[i].base == TermBase::natural;
    Mp key = exact_difference(terms_[i].x, natural ? 0.0 : anchor->x);
    TermClass::Member member{i, 0};
    if (!natural) {
      mpfr_get_z(raw(member.integer_part), raw(key), MPFR_RNDD);
      // The difference of a number and its floor: every bit lies between the number's last bit and 1, so key's own bits
      // plus the carry of a negative number suffice; a tiny negative number needs the bits up to 1 as well.
      Mp fraction = make_mp(std::max<mpfr_prec_t>(mpfr_get_prec(raw(key)), 2) + 1088);
      if (mpfr_sub_z(raw(fraction), raw(key), raw(member.integer_part), MPFR_RNDN) != 0) {
        throw std::logic_error("the fraction of an exponent was rounded");
      }
      key = std::move(fraction);
    }
    keyed.push_back({natural, std::move(key), std::move(member)});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    if (a.natural != b.natural) return b.natural;
    if (const int order = mpfr_cmp(raw(a.key), raw(b.key)); order != 0) return order < 0;
    return a.member.integer_part > b.member.integer_part;
  });
  const Keyed* previous = nullptr;
  for (Keyed& next : keyed) {
    if (previous == nullptr || previous->natural != next.natural ||
        mpfr_equal_p(raw(previous->key), raw(next.key)) == 0) {
      classes_.emplace_back();
    }
    classes_.back().members.push_back(std::move(next.member));
    previous = &next;
  }
}

}  // namespace lsecheck
