#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/sfu/sfu.h"
#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"
#include "reference/device_callable.h"
#include "reference/elementary.h"

// The steps of fa4_weight_errors(), for the host, which goes through a row's partitions one after the other, and for a
// device, where each partition has a lane.
//
// Derivation. u = 2^-24; x_p the LSEs; m their maximum; S = sum 2^(x_p - m), so 1 <= S <= P and L = 2^m S.
// A hat marks what the kernel computes. Empty partitions add exact zeros and are left out.
//
// 1. d_p = fl(x_p - m). m is one of the x_p, so the maximum has d = 0. An f32 subtraction errs by at most half an ulp
// of the
//    result and not at all where the difference is an f32: 2^d_p differs from 2^(x_p - m) by a factor 2^+-theta.
// 2. e_p = ex2(d_p) = 2^d_p (1 + eps), abs(eps) <= unit.ex2_relative; below 2^-126 it may be flushed to 0, an error of
// all of it:
//    relative 1. ex2(0) = 1 exactly, for every unit.
// 3. s = the e_p added up: lane-wise over at most ceil(P/32) slots, then 5 butterfly steps. All terms are >= 0 and
// adding 0 is exact,
//    so each passes through at most min(slots - 1 + 5, N - 1) roundings, N the non-empty count: s^ = S (1 + sigma) with
//    sigma <= (1 + E)(1 + gamma) - 1, E = sum 2^(x_p-m) phi_p / S. Rounding is monotone and e of the maximum is 1, so
//    s^ >= 1.
// 4. lg2(s^) = log2 S + log2(1 + sigma) + eta; abs(log2(1 +- sigma)) <= sigma / (ln 2 (1 - sigma)); eta by the unit:
//    absolute on [1, 2), relative from 2 on; at s^ = 1 (N = 1) by the unit's word on lg2(1).
// 5. g = fl(lg2(s^) + m). m itself is an f32, so the nearest f32 is never further from the sum than m is: the rounding
// is at most
//    min(abs(lg2(s^)), half an ulp at the larger of abs(m) and abs(m + lg2(s^))).
//    Together g = log2 L + delta, abs(delta) <= eta + sigma/(ln 2 (1 - sigma)) + rho.
// 5s. With a sink c (mla_combine; S, L, G = log2 L without it): a = fl(c * log2e), h = fl(a - g), q = ex2(h),
//    v = fl(1 + q), g' = fl(g + lg2(v)); what is due is G' = G + log2(1 + 2^(A - G)), A = c log2 e exactly.
//    Let e_q = abs(a - A) + tau_h + 2 eps, the exponent error of q: abs(a - A) is known (a is one f32 product), tau_h
//    is the rounding of h, abs(log2(1 +- eps)) <= 2 eps for eps < 1/2; a q that is flushed is below 2^-126 and vanishes
//    in 1 + q. G' as a function of G has the derivative 1 - sigma and as a function of A the derivative sigma, sigma
//    the sink's share of the mass, which grows with A and falls with G: by the mean value theorem the errors reach g'
//    as at most delta and sigma_up e_q, sigma_up at A + e_q and G - delta. Rounding v moves log2 v by at most min(u,
//    q) 1.0001 / ln 2, lg2 by eta_s (exactly 0 at v = 1 where the unit says so), and rho_s rounds the sum, at most half
//    an ulp of it or all of lg2(v), since g is an f32. Together g' = G' + delta', delta' = delta + sigma_up e_q +
//    min(u, q) 1.0001 / ln 2 + eta_s + rho_s. q overflows only where h >= 128; then sigma_up is 1 to 2^-100, every
//    weight is below 2^-127.9 2^(delta + e_q), and the kernel's zero is inside what the flush of step 7 allows.
// 6. a_p = fl(x_p - g): with t_p = x_p - log2 L <= 0 the true exponent, abs(x_p - g) <= abs(t_p) + delta; the rounding
// tau is
//    half an ulp there, and zero when the difference is a multiple of a q with abs(difference) <= 2^24 q: q the smaller
//    of ulp(x_p) and the smallest ulp that g can have.
// 7. w_p = ex2(a_p) = 2^t_p 2^(+-(delta + tau)) (1 + eps): relative error (1 + (2^(delta + tau) - 1))(1 + eps) - 1;
// where the result may be
//    below 2^-126 it may be flushed to 0: relative error at least 1.
namespace lsecheck::sm100 {

inline constexpr double kF32Unit = 0x1p-24;
// Of 2^(x_p - m) in double: exp2_double's own 2^-52 and the rounding of x_p - m, at most 2^-53 * 1000 in the exponent.
// Terms below 2^-1000 are taken as the interval [0, 2^-999].
inline constexpr double kScaledTermError = 0x1p-42;
// 1 / ln 2, rounded up.
inline constexpr double kInverseLn2Up = 0x1.71547652b82ffp+0;

// The unit's error at lg2(s), s in [s_low, s_up], s >= 1; log2_s_up >= log2(s_up).
LSECHECK_ANYWHERE double log2_error(const sfu::UnitAccuracy& unit, bool single, double s_low, double s_up,
                                    double log2_s_up) {
  if (single) return unit.lg2_of_one_exact ? 0 : unit.lg2_absolute_above_one;
  const double relative = mul_up(unit.lg2_relative_above_two, log2_s_up);
  if (s_low >= 2) return relative;
  return s_up < 2 ? unit.lg2_absolute_above_one : std::max(unit.lg2_absolute_above_one, relative);
}

// Steps 1 and 2 of one non-empty partition: an enclosure of 2^(x_p - m) and a bound on the error of e_p.
struct ScaledTerm {
  double low = 0;
  double up = 0;
  double error = 0;
};

LSECHECK_ANYWHERE ScaledTerm scaled_term(double x_p, double m, const sfu::UnitAccuracy& unit) {
  const double difference = x_p - m;
  const double term = exp2_double(difference);
  ScaledTerm result;
  result.up = add_up(mul_up(term, 1 + kScaledTermError), difference < -1000 ? 0x1p-999 : 0);
  result.low = difference < -1000 ? 0 : mul_down(term, 1 - kScaledTermError);
  if (difference == 0) return result;  // ex2(0) = 1
  double phi = 1;  // below -130 the rounded difference stays there, and the result is flushed for certain
  if (difference >= -130) {
    const double theta = f32_subtraction_error(x_p, m);
    phi = compound(pow2_minus_one_up(theta), unit.ex2_relative);
    if (difference - theta - 2 * unit.ex2_relative < -126 + 0x1p-20) phi = std::max(phi, 1.0);
  }
  result.error = mul_up(result.up, phi);
  return result;
}

// Step 3: the terms of a row's non-empty partitions, added in their order.
struct ScaledSum {
  double low = 0;  // <= S
  double up = 0;   // >= S
  double error = 0;
  std::size_t count = 0;      // N
  double relative_error = 0;  // sigma; set by finish()

  LSECHECK_ANYWHERE void add(const ScaledTerm& term) {
    ++count;
    up = add_up(up, term.up);
    low = add_down(low, term.low);
    error = add_up(error, term.error);
  }
  LSECHECK_ANYWHERE void finish(std::size_t num_partitions) {
    low = std::max(low, 1.0);
    const std::size_t slots = (num_partitions + 31) / 32;
    const std::size_t roundings = std::min(slots - 1 + 5, count - 1);
    relative_error = compound(div_up(error, low), gamma_up(roundings, kF32Unit));
  }
};

// The computed global LSE g^ = exact + delta, the exact one as m + above.
struct GlobalLse {
  double above = 0;  // to within `margin` of the exact LSE minus m
  double margin = 0;
  double delta = 0;        // abs(g^ - exact)
  double low = 0, up = 0;  // g^ lies in [low, up]
};

// Steps 4 and 5.
LSECHECK_ANYWHERE GlobalLse global_lse(double m, const ScaledSum& sum, const sfu::UnitAccuracy& unit) {
  // Step 4. log2 S lies within log2_margin of log2_s: S is known to 2 kScaledTermError relative, log2_double to 2^-47
  // absolute as log2 S <= 8.
  const double log2_s = log2_double(sum.up);
  const double log2_margin = 0x1p-40;
  const double s_up = mul_up(sum.up, add_up(1, sum.relative_error));
  const double s_low = std::max(1.0, mul_down(sum.low, sub_down(1, sum.relative_error)));
  const double log2_s_up = add_up(log2_double(s_up), log2_margin);
  const double eta = log2_error(unit, sum.count == 1, s_low, s_up, log2_s_up);
  const double sum_part = div_up(mul_up(sum.relative_error, kInverseLn2Up), sub_down(1, sum.relative_error));

  // Step 5. lg2(s^) lies in [-eta, lg2_up].
  const double lg2_up = sum.count == 1 ? eta : add_up(log2_s_up, eta);
  const double g_up = add_up(m, lg2_up);
  const double g_low = sub_down(m, eta);
  const double rho = std::min(lg2_up, cast_error_up(DType::f32, std::max(std::abs(g_up), std::abs(g_low))));
  return {log2_s, log2_margin, add_up(add_up(eta, sum_part), rho), g_low - rho, g_up + rho};
}

// The smallest ulp that g^ can have; 0: no such.
LSECHECK_ANYWHERE double least_ulp(const GlobalLse& g) {
  if (g.low <= 0 && g.up >= 0) return 0;
  return ulp_at(DType::f32, std::min(std::abs(g.low), std::abs(g.up)));
}

// Steps 6 and 7 of one non-empty partition.
LSECHECK_ANYWHERE Fa4PartitionWeight partition_weight(double x_p, double m, const GlobalLse& g,
                                                      const sfu::UnitAccuracy& unit, bool has_sink) {
  Fa4PartitionWeight w;
  const double exponent = (x_p - m) - g.above;
  w.weight_near = exp2_double(exponent);
  w.weight_up = add_up(mul_up(w.weight_near, 1 + kWeightNearError), exponent < -1000 ? 0x1p-999 : 0);
  // Step 6.
  const double distance = add_up(std::abs(exponent) + 2 * g.margin, g.delta);
  const double g_grid = least_ulp(g);
  const double grid = x_p == 0 ? g_grid : std::min(g_grid, ulp_at(DType::f32, x_p));
  const bool exact = x_p == 0 || (grid > 0 && distance <= grid * 0x1p24);
  const double tau = exact ? 0 : cast_error_up(DType::f32, distance);
  // Step 7. abs(log2(1 +- eps)) <= 2 eps for eps < 1/2.
  const double shift = add_up(g.delta, tau);
  const double uncertainty = shift + 2 * unit.ex2_relative + 2 * g.margin;
  w.relative_error = compound(pow2_minus_one_up(shift), unit.ex2_relative);
  if (exponent - uncertainty >= -126) {
    w.fate = WeightFate::nonzero;
  } else {
    w.fate = exponent + uncertainty < -126 ? WeightFate::zero : WeightFate::either;
    w.relative_error = w.fate == WeightFate::zero ? 1 : std::max(w.relative_error, 1.0);
  }
  // Neither the computed nor the true weight exceeds 1 by more than 2^-10.
  if (has_sink && shift > 60 && w.fate != WeightFate::zero) {
    w.weight_up = 1;
    w.relative_error = 1 + 0x1p-10;
  }
  return w;
}

}  // namespace lsecheck::sm100
