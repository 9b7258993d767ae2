#include "reference/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lsecheck {
namespace {

using Wide = unsigned __int128;

// Number of terms up to which 192-bit sums cannot overflow: a term is below 2^181.
constexpr std::size_t kMaxFixedTerms = 1024;

struct Wide192 {
  std::uint64_t limb[3] = {0, 0, 0};  // least significant first

  void add(const Wide192& other) {
    Wide carry = 0;
    for (int i = 0; i < 3; ++i) {
      carry += Wide{limb[i]} + other.limb[i];
      limb[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }

  // Shifts right and tells whether a one was lost.
  bool shift_right(std::int64_t shift) {
    bool lost = false;
    while (shift >= 64) {
      lost = lost || limb[0] != 0;
      limb[0] = limb[1];
      limb[1] = limb[2];
      limb[2] = 0;
      shift -= 64;
      if ((limb[0] | limb[1] | limb[2]) == 0) return lost;
    }
    if (shift == 0) return lost;
    lost = lost || (limb[0] << (64 - shift)) != 0;
    limb[0] = (limb[0] >> shift) | (limb[1] << (64 - shift));
    limb[1] = (limb[1] >> shift) | (limb[2] << (64 - shift));
    limb[2] >>= shift;
    return lost;
  }

  // target = this * 2^exponent; the target holds 192 bits.
  void store(Mp& target, std::int64_t exponent) const {
    MpInteger integer;
    mpz_import(raw(integer), 3, -1, sizeof(std::uint64_t), 0, 0, limb);
    mpfr_set_z_2exp(raw(target), raw(integer), exponent, MPFR_RNDN);
  }
};

Wide192 product(std::uint64_t high, std::uint64_t low, std::uint64_t significand) {
  const Wide below = Wide{low} * significand;
  const Wide above = Wide{high} * significand + static_cast<std::uint64_t>(below >> 64);
  return {
      {static_cast<std::uint64_t>(below), static_cast<std::uint64_t>(above), static_cast<std::uint64_t>(above >> 64)}};
}

}  // namespace

TermSums TermSummer::sum(std::span<const double> coefficients, std::size_t level) {
  TermSums sums =
      level == 0 && terms_.size() <= kMaxFixedTerms ? sum_fixed(coefficients) : sum_mpfr(coefficients, level);
  if (any_negligible_) add_negligible(coefficients, level, sums);
  return sums;
}

const TermSummer::FixedWeight& TermSummer::fixed_weight(std::size_t i) {
  if (fixed_.empty()) fixed_.resize(terms_.size());
  FixedWeight& fixed = fixed_[i];
  if (fixed.state != Weight::State::unset) return fixed;
  const Weight& weight = terms_.weight(reference_, 0, i);
  fixed.state = weight.state;
  if (fixed.state == Weight::State::negligible) return fixed;
  MpInteger significand;
  const mpfr_exp_t exponent = mpfr_get_z_2exp(raw(significand), raw(weight.value));  // 128 bits, the first one set
  fixed.low = mpz_get_ui(raw(significand));
  significand >>= 64;
  fixed.high = mpz_get_ui(raw(significand));
  fixed.exponent = exponent + 128;
  fixed.exact = weight.exact;
  return fixed;
}

// All products are brought to the unit 2^(top - 128), where 2^top is the largest weight exponent plus coefficient
// exponent, by dropping the bits below: an error of less than one unit for each product that loses a one. The additions
// are exact (kMaxFixedTerms). A weight as computed is below 2^exponent and off by at most 2 * 2^-128 relative to the
// true one, hence by less than 2^(exponent - 127) (1 + 2^-126). Times abs(c) < 2^(c.exponent + 53), with exponent +
// c.exponent = top - shift, that is below 2^(top - shift - 74) (1 + 2^-126) < 2^(55 - shift) units, and (2^55 >> shift)
// + 1 units cover it.
TermSums TermSummer::sum_fixed(std::span<const double> coefficients) {
  std::int64_t top = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (coefficients[i] == 0) continue;
    const FixedWeight& weight = fixed_weight(i);
    if (weight.state == Weight::State::negligible) {
      any_negligible_ = true;
      continue;
    }
    top = std::max(top, weight.exponent + double_parts(coefficients[i]).exponent);
  }
  TermSums sums(192);
  if (top == std::numeric_limits<std::int64_t>::min()) return sums;

  Wide192 total[2];
  Wide error_units = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (coefficients[i] == 0 || fixed_[i].state == Weight::State::negligible) continue;
    const FixedWeight& weight = fixed_[i];
    const DoubleParts c = double_parts(coefficients[i]);
    const std::int64_t shift = top - (weight.exponent + c.exponent);
    Wide192 term = product(weight.high, weight.low, c.significand);
    if (term.shift_right(shift)) error_units += 1;
    if (!weight.exact) error_units += 1 + (shift < 64 ? (std::uint64_t{1} << 55) >> shift : 0);
    total[coefficients[i] < 0].add(term);
  }

  const std::int64_t unit = top - 128;
  Mp negative = make_mp(192);
  total[0].store(sums.magnitude.mid, unit);
  total[1].store(negative, unit);
  mpfr_sub(raw(sums.value.mid), raw(sums.magnitude.mid), raw(negative), MPFR_RNDN);      // exact: multiples of a unit
  mpfr_add(raw(sums.magnitude.mid), raw(sums.magnitude.mid), raw(negative), MPFR_RNDN);  // exact: below 2^192 units
  // error_units < 1024 * (2^55 + 2) < 2^66: in eighths, rounded up, it fits 64 bits.
  const auto eighths = static_cast<std::uint64_t>((error_units + 7) >> 3);
  mpfr_set_ui_2exp(raw(sums.value.rad), eighths, unit + 3, MPFR_RNDU);
  mpfr_set(raw(sums.magnitude.rad), raw(sums.value.rad), MPFR_RNDU);
  return sums;
}

// Positive and negative products apart, so that no sum cancels. With u = 2^-precision each product carries its weight's
// error (2u) and its own rounding (u), a sum of m products at most m - 1 roundings, the last subtraction one: every
// product enters with a factor within (1 + u)^(+-(m + 3)), and the value is off by less than (m + 4) u magnitude,
// magnitude as computed (m + 4 < 2^40, u <= 2^-128).
TermSums TermSummer::sum_mpfr(std::span<const double> coefficients, std::size_t level) {
  const mpfr_prec_t precision = kPrecisionLadder[level];
  TermSums sums(precision);
  Mp total[2] = {make_mp(precision), make_mp(precision)};
  Mp c = make_mp(53);
  Mp term = make_mp(precision);
  std::size_t count = 0;
  bool exact = true;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (coefficients[i] == 0) continue;
    const Weight& weight = terms_.weight(reference_, level, i);
    if (weight.state == Weight::State::negligible) {
      any_negligible_ = true;
      continue;
    }
    mpfr_set_d(raw(c), coefficients[i], MPFR_RNDN);
    exact = (mpfr_mul(raw(term), raw(weight.value), raw(c), MPFR_RNDN) == 0) && weight.exact && exact;
    Mp& sum = total[coefficients[i] < 0];
    exact = (mpfr_add(raw(sum), raw(sum), raw(term), MPFR_RNDN) == 0) && exact;
    ++count;
  }
  exact = (mpfr_add(raw(sums.value.mid), raw(total[0]), raw(total[1]), MPFR_RNDN) == 0) && exact;
  exact = (mpfr_sub(raw(sums.magnitude.mid), raw(total[0]), raw(total[1]), MPFR_RNDN) == 0) && exact;
  if (exact) return sums;
  mpfr_mul_ui(raw(sums.value.rad), raw(sums.magnitude.mid), count + 4, MPFR_RNDU);
  mpfr_mul_2si(raw(sums.value.rad), raw(sums.value.rad), -precision, MPFR_RNDU);
  mpfr_set(raw(sums.magnitude.rad), raw(sums.value.rad), MPFR_RNDU);
  return sums;
}

// A negligible weight is somewhere in [0, 2^-kNegligibleBits].
void TermSummer::add_negligible(std::span<const double> coefficients, std::size_t level, TermSums& sums) {
  Radius bound;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (coefficients[i] == 0 || terms_.weight(reference_, level, i).state != Weight::State::negligible) continue;
    mpfr_set_d(raw(bound), std::abs(coefficients[i]), MPFR_RNDU);
    mpfr_mul_2si(raw(bound), raw(bound), -kNegligibleBits, MPFR_RNDU);
    for (Ball* ball : {&sums.value, &sums.magnitude}) mpfr_add(raw(ball->rad), raw(ball->rad), raw(bound), MPFR_RNDU);
  }
}

}  // namespace lsecheck
