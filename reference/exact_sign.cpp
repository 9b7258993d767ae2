#include "reference/exact_sign.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "reference/exact_precision_cap.h"

namespace lsecheck {
namespace {

// Two members of a class whose exponents differ by more than this cannot cancel. Coefficients are sums of products of
// at most three doubles, hence multiples of 2^-3222 (doubles are multiples of 2^-1074), so that a non-zero sum is at
// least that; a single one is below 2^1024 + 2^2048 + 2^3072 < 2^3073, so that n later ones, all at or below the next
// exponent, reach n * 2^3073 at most; 6500 - 3222 - 3073 = 205 bits cover every n.
constexpr int kDominanceGap = 6500;

// x = significand * 2^exponent, abs(significand) < 2^53, exponent >= -1074.
struct Integral {
  std::int64_t significand;
  int exponent;
};

Integral integral(double x) {
  const DoubleParts parts = double_parts(x);
  const auto significand = static_cast<std::int64_t>(parts.significand);
  return {x < 0 ? -significand : significand, parts.exponent};
}

// The coefficients c_i = numerator_i - t mass_i as integers in one unit 2^unit.
class Coefficients {
 public:
  Coefficients(const ExactTerms& terms, std::span<const double> numerators, Target t)
      : terms_(terms), numerators_(numerators), t_(t) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      lower_unit(numerators[i]);
      lower_unit(terms[i].mass, t.hi);
      lower_unit(terms[i].mass, t.lo, t.factor);
    }
  }

  bool is_zero(std::size_t i) const {
    if (t_.lo == 0 || t_.factor == 0) {
      if (t_.hi == 0 || terms_[i].mass == 0) return numerators_[i] == 0;
      if (terms_[i].mass == 1) return numerators_[i] == t_.hi;
    }
    return in_units(i) == 0;
  }

  MpInteger in_units(std::size_t i) const {
    MpInteger c = 0;
    add_product(c, numerators_[i]);
    add_product(c, -terms_[i].mass, t_.hi);
    add_product(c, -terms_[i].mass, t_.lo, t_.factor);
    return c;
  }

 private:
  void lower_unit(double a, double b = 1, double c = 1) {
    if (a != 0 && b != 0 && c != 0) {
      unit_ = std::min(unit_, double_parts(a).exponent + double_parts(b).exponent + double_parts(c).exponent);
    }
  }

  void add_product(MpInteger& sum, double a, double b = 1, double c = 1) const {
    if (a == 0 || b == 0 || c == 0) return;
    MpInteger product = 1;
    int exponent = 0;
    for (const double factor : {a, b, c}) {
      const Integral x = integral(factor);
      product *= x.significand;
      exponent += x.exponent;
    }
    product <<= static_cast<unsigned>(exponent - unit_);
    sum += product;
  }

  const ExactTerms& terms_;
  std::span<const double> numerators_;
  Target t_;
  int unit_ = std::numeric_limits<int>::max();
};

// What is left of a class after exact cancellation: E_term * coefficient.
struct Cluster {
  std::size_t term;
  MpInteger coefficient;
};

// Calls visit(Cluster) for every cluster of the class with a non-zero sum, largest exponent first, until visit returns
// false.
template <class Visit>
void visit_clusters(const TermClass& term_class, const Coefficients& coefficients, Visit visit) {
  MpInteger sum = 0;
  const TermClass::Member* last = nullptr;
  for (const TermClass::Member& member : term_class.members) {
    if (sum == 0) {
      if (coefficients.is_zero(member.term)) continue;
    } else {
      const MpInteger gap = last->integer_part - member.integer_part;
      if (gap > kDominanceGap) {
        if (!visit(Cluster{last->term, std::move(sum)})) return;
        sum = 0;
      } else {
        sum <<= static_cast<unsigned>(gap.convert_to<unsigned long>());
      }
    }
    sum += coefficients.in_units(member.term);
    last = &member;
  }
  if (sum != 0) visit(Cluster{last->term, std::move(sum)});
}

bool is_zero_in_class(const TermClass& term_class, const Coefficients& coefficients) {
  if (term_class.members.size() == 1) return coefficients.is_zero(term_class.members.front().term);
  bool zero = true;
  visit_clusters(term_class, coefficients, [&](const Cluster&) { return zero = false; });
  return zero;
}

// The sign of sum E_term * coefficient at one level of the ladder; nullopt when the level cannot tell.
//
// Positive and negative products are summed apart. With u = 2^-precision each product carries its weight's error (2u)
// and one rounding (u), each sum of m products at most m - 1 roundings more: a factor within (1 + u)^(+-(m + 2)), so
// the error of both sums together is below (m + 3) u (positive + negative), the sums taken as computed (m + 3 < 2^40, u
// <= 2^-128). Coefficients enter exactly.
std::optional<int> sign_at_level(ExactTerms& terms, std::span<const Cluster> clusters, std::size_t reference,
                                 std::size_t level) {
  const mpfr_prec_t precision = kPrecisionLadder[level];
  Mp sums[2] = {make_mp(precision), make_mp(precision)};
  Mp product = make_mp(precision);
  Radius radius;
  Radius negligible;
  for (const Cluster& cluster : clusters) {
    const Weight& weight = terms.weight(reference, level, cluster.term);
    if (weight.state == Weight::State::negligible) {
      mpfr_set_z(raw(product), raw(cluster.coefficient), MPFR_RNDA);
      mpfr_abs(raw(product), raw(product), MPFR_RNDU);
      mpfr_mul_2si(raw(product), raw(product), -kNegligibleBits, MPFR_RNDU);
      mpfr_add(raw(negligible), raw(negligible), raw(product), MPFR_RNDU);
      continue;
    }
    mpfr_mul_z(raw(product), raw(weight.value), raw(cluster.coefficient), MPFR_RNDN);
    Mp& sum = sums[mpfr_sgn(raw(product)) < 0];
    mpfr_add(raw(sum), raw(sum), raw(product), MPFR_RNDN);
  }
  mpfr_sub(raw(radius), raw(sums[0]), raw(sums[1]), MPFR_RNDU);  // the negative sum is negative: the sum of magnitudes
  mpfr_mul_ui(raw(radius), raw(radius), clusters.size() + 3, MPFR_RNDU);
  mpfr_mul_2si(raw(radius), raw(radius), -precision, MPFR_RNDU);
  mpfr_add(raw(radius), raw(radius), raw(negligible), MPFR_RNDU);
  mpfr_neg(raw(sums[1]), raw(sums[1]), MPFR_RNDN);
  const bool positive = mpfr_greater_p(raw(sums[0]), raw(sums[1])) != 0;
  const Mp& larger = sums[positive ? 0 : 1];
  const Mp& smaller = sums[positive ? 1 : 0];
  mpfr_add(raw(product), raw(smaller), raw(radius), MPFR_RNDU);
  if (mpfr_greater_p(raw(larger), raw(product)) == 0) return std::nullopt;
  return positive ? 1 : -1;
}

// All c_i as doubles, where the mass is 1 and the subtraction exact; dominant weights that cancel are then gone without
// a trace.
std::optional<std::vector<double>> as_doubles(const ExactTerms& terms, std::span<const double> numerators, Target t) {
  if (t.lo != 0 && t.factor != 0) return std::nullopt;
  std::vector<double> coefficients(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const double a = numerators[i];
    const double b = terms[i].mass == 1 ? t.hi : 0.0;
    if (terms[i].mass != 1 && terms[i].mass != 0 && t.hi != 0) return std::nullopt;
    const double difference = a - b;
    const double b_part = a - difference;
    const double residual = (a - (difference + b_part)) + (b_part - b);  // TwoSum
    if (residual != 0 || !std::isfinite(difference)) return std::nullopt;
    coefficients[i] = difference;
  }
  return coefficients;
}

}  // namespace

bool ExactSign::is_equal(std::span<const double> numerators, Target t) {
  const Coefficients coefficients(terms_, numerators, t);
  for (const TermClass& term_class : terms_.classes()) {
    if (!is_zero_in_class(term_class, coefficients)) return false;
  }
  return true;
}

int ExactSign::compare(std::span<const double> numerators, Target t) {
  if (const auto quick = as_doubles(terms_, numerators, t)) {
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < quick->size(); ++i) {
      if ((*quick)[i] != 0) present.push_back(i);
    }
    if (present.empty()) return 0;
    const std::size_t reference = terms_.dominant(present);
    TermSummer& summer = summers_.try_emplace(reference, terms_, reference).first->second;
    const Ball sum = summer.sum(*quick, 0).value;
    if (!sum.contains_zero()) return mpfr_sgn(raw(sum.mid));
  }
  const Coefficients coefficients(terms_, numerators, t);
  std::vector<Cluster> clusters;
  std::vector<std::size_t> among;
  for (const TermClass& term_class : terms_.classes()) {
    visit_clusters(term_class, coefficients, [&](Cluster cluster) {
      among.push_back(cluster.term);
      clusters.push_back(std::move(cluster));
      return true;
    });
  }
  if (clusters.empty()) return 0;
  if (clusters.size() == 1) return clusters.front().coefficient.sign();
  const std::size_t reference = terms_.dominant(among);
  for (std::size_t level = 0; level < kPrecisionLadder.size(); ++level) {
    if (const std::optional<int> sign = sign_at_level(terms_, clusters, reference, level)) return *sign;
  }
  throw PrecisionCapReached();
}

}  // namespace lsecheck
