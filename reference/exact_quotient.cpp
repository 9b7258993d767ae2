#include "reference/exact_quotient.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lsecheck {
namespace {

double truncated_magnitude(const Mp& x) {
  return std::fabs(mpfr_get_d(raw(x), MPFR_RNDZ));
}

// A target at a precision of 128 bits or more, rounded to both sides.
struct Enclosure {
  Mp below;
  Mp above;
  bool exact;

  Enclosure(Target t, mpfr_prec_t precision) : below(make_mp(precision)) {
    Mp lo = make_mp(106);  // holds the product of two doubles
    mpfr_set_d(raw(lo), t.lo, MPFR_RNDN);
    mpfr_mul_d(raw(lo), raw(lo), t.factor, MPFR_RNDN);
    mpfr_set_d(raw(below), t.hi, MPFR_RNDN);
    above = below;
    exact = mpfr_add(raw(below), raw(below), raw(lo), MPFR_RNDD) == 0;
    mpfr_add(raw(above), raw(above), raw(lo), MPFR_RNDU);
  }
};

}  // namespace

// With q = fl(n/l) and u = 2^-precision: N/L - n/l = (N - n)/L + (n/l)(l - L)/L, and L >= l - rad_l, so that
// abs(N/L - q) <= (rad_n + abs(n/l) rad_l) / (l - rad_l) + u abs(q), with abs(n/l) <= abs(q)(1 + 2u), which the step to
// the next radius-sized number above abs(q) covers.
Ball quotient(const Ball& n, const Ball& l) {
  const mpfr_prec_t precision = mpfr_get_prec(raw(n.mid));
  Ball q(precision);
  const bool inexact = mpfr_div(raw(q.mid), raw(n.mid), raw(l.mid), MPFR_RNDN) != 0;
  if (!inexact && n.is_exact() && l.is_exact()) return q;
  Radius magnitude;
  mpfr_abs(raw(magnitude), raw(q.mid), MPFR_RNDU);
  if (mpfr_zero_p(raw(magnitude)) == 0) mpfr_nextabove(raw(magnitude));
  Radius least_l;
  mpfr_sub(raw(least_l), raw(l.mid), raw(l.rad), MPFR_RNDD);
  mpfr_fma(raw(q.rad), raw(magnitude), raw(l.rad), raw(n.rad), MPFR_RNDU);
  mpfr_div(raw(q.rad), raw(q.rad), raw(least_l), MPFR_RNDU);
  mpfr_mul_2si(raw(magnitude), raw(magnitude), -precision, MPFR_RNDU);
  mpfr_add(raw(q.rad), raw(q.rad), raw(magnitude), MPFR_RNDU);
  return q;
}

double round_to_odd(const Mp& x) {
  const double toward_zero = mpfr_get_d(raw(x), MPFR_RNDZ);
  if (mpfr_cmp_d(raw(x), toward_zero) == 0) return toward_zero;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(toward_zero) | 1);
}

ExactQuotient::ExactQuotient(ExactSign& sign, std::span<const double> numerators, Ball ball)
    : sign_(sign),
      numerators_(numerators),
      ball_(std::move(ball)),
      low_(make_mp(mpfr_get_prec(raw(ball_.mid)))),
      high_(make_mp(mpfr_get_prec(raw(ball_.mid)))) {
  if (!ball_.is_exact() && ball_.contains_zero() && sign_.is_equal(numerators_, {0})) {
    mpfr_set_zero(raw(ball_.mid), 1);
    mpfr_set_zero(raw(ball_.rad), 1);
  }
  mpfr_sub(raw(low_), raw(ball_.mid), raw(ball_.rad), MPFR_RNDD);
  mpfr_add(raw(high_), raw(ball_.mid), raw(ball_.rad), MPFR_RNDU);
  if (mpfr_zero_p(raw(low_)) != 0) mpfr_set_zero(raw(low_), 1);  // x - x rounded down is -0; there is one zero here
}

// Midpoints and binade boundaries lie at least 2^-26 of the value, or half a smallest subnormal, apart.
bool ExactQuotient::is_narrow(DType type) const {
  if (ball_.is_exact()) return true;
  Radius allowed;
  mpfr_abs(raw(allowed), raw(ball_.mid), MPFR_RNDD);
  if (mpfr_cmp_d(raw(allowed), smallest_subnormal(type)) < 0) {
    mpfr_set_d(raw(allowed), smallest_subnormal(type), MPFR_RNDD);
  }
  mpfr_mul_2si(raw(allowed), raw(allowed), -64, MPFR_RNDD);
  return mpfr_lessequal_p(raw(ball_.rad), raw(allowed)) != 0;
}

bool ExactQuotient::equals(Target t) const {
  const Enclosure near(t, mpfr_get_prec(raw(ball_.mid)));
  if (mpfr_less_p(raw(high_), raw(near.below)) != 0 || mpfr_greater_p(raw(low_), raw(near.above)) != 0) return false;
  if (ball_.is_exact() && near.exact) return mpfr_equal_p(raw(ball_.mid), raw(near.below)) != 0;
  return sign_.is_equal(numerators_, t);
}

int ExactQuotient::compare(Target t) const {
  const Enclosure near(t, mpfr_get_prec(raw(ball_.mid)));
  if (mpfr_less_p(raw(high_), raw(near.below)) != 0) return -1;
  if (mpfr_greater_p(raw(low_), raw(near.above)) != 0) return 1;
  if (ball_.is_exact() && near.exact) {
    const int order = mpfr_cmp(raw(ball_.mid), raw(near.below));
    return (order > 0) - (order < 0);
  }
  return sign_.compare(numerators_, t);
}

std::uint32_t ExactQuotient::rounded(DType type) const {
  const std::uint32_t below = round_to_nearest_even(type, round_to_odd(low_));
  const std::uint32_t above = round_to_nearest_even(type, round_to_odd(high_));
  if (below == above) return below;
  const double between = rounding_boundary(type, below, above);
  const int side = compare({between});
  if (side != 0) return side < 0 ? below : above;
  return round_to_nearest_even(type, between);
}

double ExactQuotient::ulp(DType type) const {
  const double magnitudes[2] = {truncated_magnitude(low_), truncated_magnitude(high_)};
  const double smaller = ulp_at(type, std::min(magnitudes[0], magnitudes[1]));
  const double larger = ulp_at(type, std::max(magnitudes[0], magnitudes[1]));
  if (smaller == larger) return larger;
  // The binade boundary inside the ball: the first number with the larger ulp.
  const double boundary = std::ldexp(larger, format_of(type).precision - 1);
  const bool negative = mpfr_signbit(raw(ball_.mid)) != 0;
  const int side = compare({negative ? -boundary : boundary});
  return (negative ? side <= 0 : side >= 0) ? larger : smaller;
}

}  // namespace lsecheck
