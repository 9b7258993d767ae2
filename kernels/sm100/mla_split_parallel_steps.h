#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/sfu/sfu.h"
#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"
#include "reference/device_callable.h"
#include "reference/elementary.h"

// The steps of split_parallel_row_bound(), for the host and for a device.
//
// Derivation. u = 2^-24; x_p the LSEs, M their maximum, T_p = 2^(x_p - M); A[d] = sum T_p o_p[d], L = sum T_p (+ the
// sink's T_s = 2^(c log2 e - M)), so L >= 1 and out = A / L. Maxima are exact, so which differences are formed is
// known: the split p enters its warp with e = ex2(x_p - n), and is scaled by an r for every later rise of the warp's
// maximum and for every merge in which the other side's maximum is larger. The exponents of these factors add up to x_p
// - M.
//
// 1. A factor ex2(fl(y - n)): 1 exactly where y = n. Otherwise the subtraction errs by theta (half an ulp, or 0 where
// it is
//    exact) and ex2 by eps; a difference below -126 is flushed to 0 for certain, one of -126 may be, a larger one is
//    not (2^-17 separates the floats there, and 2^(2^-17) is 44 ulps). A chain that holds a 0 is missing altogether:
//    relative error 1.
// 2. Roundings. acc = fma(r, acc, e * o): the new term has one for its product unless e = 1, and every term one for the
// sum
//    unless acc held nothing (0 + z is exact). A merge of two sides that hold something: one for the sum, and one for
//    the partner's product unless its factor is 1. The same for l, but e itself is no product. So A^ = sum T_p (1 +
//    alpha_p) o_p with alpha_p <= 2^(sum theta) (1 + eps)^n (1 + gamma_k) - 1, plus 2^-150 for every operation, whose
//    result may be subnormal (later factors are at most 1 + eps; 1 + 2^-10 covers that).
// 3. l^ = L (1 + lambda), lambda <= sum T_p lambda_p / L, all terms being >= 0. The sink: a = fl(c log2e) and d = fl(a
// - M)
//    are known numbers, so its exponent error delta_s = abs(d - (c log2 e - M)) is, too; q = ex2(d) has relative error
//    2^delta_s (1 + eps) - 1, or 1 where it may be flushed; one more rounding of the sum.
// 4. inv = fl(1 / l), out = fl(inv * A): two roundings, unless one split is left and no sink mass, when l = 1. 1 / l is
//    subnormal, with 2^-150 absolute, only where l > 2^126. In all, with W_p = T_p / L and
//    psi_p = (1 + alpha_p)(1 + gamma_2) / (1 - lambda) - 1:
//    abs(out - x) <= sum W_p psi_p abs(o_p) + (K 2^-150 / L)(1 + 2^-10) + 2^-150 (+ 2^-150 sum T_p abs(o_p))
// 5. Where q may overflow (d >= 127) l may be Inf and the output 0: relative error at least 1. Where the sink's
// exponent is
//    not known to half a unit (c beyond 2^22), 0 <= computed, true <= their values without a sink bound it: W_p without
//    the sink, psi_p one more.
// 6. The sums hold values that are not yet divided by L: abs(acc) <= sum abs(o_p) (1 + 2^-10). From the largest f32 on
// one
//    may overflow, to Inf, or to NaN where Inf meets Inf of the other sign or a factor 0.
namespace lsecheck::sm100 {

inline constexpr std::uint64_t kSplitParallelWarpCount = 8;
// What rounding errors of a whole chain can multiply an absolute error by.
inline constexpr double kChainSlack = 1 + 0x1p-10;

// What happens to one split on its way into the result.
struct SplitPath {
  WeightFate fate = WeightFate::empty;
  double exponent_error = 0;  // sum of theta
  std::uint64_t factors = 0;  // that are not exactly 1
  std::uint64_t value_roundings = 0;
  std::uint64_t mass_roundings = 0;

  LSECHECK_ANYWHERE void scale(double from, double to) {
    if (from == to) return;
    ++factors;
    const double difference = from - to;
    exponent_error = add_up(exponent_error, f32_subtraction_error(from, to));
    // Doubles round monotonously, and -126 is one: the f32 difference compares like this one.
    const float rounded = static_cast<float>(from) - static_cast<float>(to);
    if (rounded < -126.0F || difference < -200) {
      fate = WeightFate::zero;
    } else if (rounded == -126.0F && fate == WeightFate::nonzero) {
      fate = WeightFate::either;
    }
  }
};

LSECHECK_ANYWHERE double path_error(const SplitPath& path, std::uint64_t roundings, const sfu::UnitAccuracy& unit) {
  if (path.fate == WeightFate::zero) return 1;
  const double factors = compound(pow2_minus_one_up(path.exponent_error), gamma_up(path.factors, unit.ex2_relative));
  const double error = compound(factors, gamma_up(roundings, 0x1p-24));
  return path.fate == WeightFate::either ? std::max(error, 1.0) : error;
}

// 2^(x_p - M) of a split.
struct SplitTerm {
  double near = 0;
  double low = 0;
  double up = 0;
};

LSECHECK_ANYWHERE SplitTerm split_term(double exponent) {
  // Of 2^(x_p - M) in double: exp2_double's 2^-52 and the rounding of the exponent, at most 2^-53 * 1000; smaller terms
  // are the interval [0, 2^-999].
  constexpr double kTermError = 0x1p-42;
  const double term = exp2_double(exponent);
  return {term, exponent < -1000 ? 0 : mul_down(term, 1 - kTermError),
          add_up(mul_up(term, 1 + kTermError), exponent < -1000 ? 0x1p-999 : 0)};
}

// Step 3 without a sink: the splits' terms, added in their order.
struct SplitMass {
  double sum = 0;
  double low = 0;
  double up = 0;
  double error = 0;  // sum T_p lambda_p
  std::uint64_t count = 0;

  LSECHECK_ANYWHERE void add(const SplitTerm& term, double relative_error) {
    ++count;
    sum += term.near;
    up = add_up(up, term.up);
    low = add_down(low, term.low);
    error = add_up(error, mul_up(term.up, relative_error));
  }
  LSECHECK_ANYWHERE std::uint64_t operations() const { return 2 * count + 2 * kSplitParallelWarpCount; }
};

// lambda.
LSECHECK_ANYWHERE double mass_error(double error, double low, std::uint64_t operations) {
  return add_up(div_up(error, low), mul_up(static_cast<double>(operations), 0x1p-149));
}

// Step 4: (1 + gamma_2) / (1 - lambda) - 1. lambda is below 1/2: what may be missing altogether is below 2^-125 of L, a
// known sink is off by less than 2^(1/2).
LSECHECK_ANYWHERE double quotient_error(double lambda) {
  return compound(gamma_up(2, 0x1p-24), div_up(lambda, sub_down(1, lambda)));
}

// Step 4: what subnormal results add, whatever the values.
LSECHECK_ANYWHERE double underflow_part(std::uint64_t operations, double mass_low) {
  const double underflow = div_up(mul_up(mul_up(static_cast<double>(operations), 0x1p-150), kChainSlack), mass_low);
  return add_up(underflow, 0x1p-150);
}

}  // namespace lsecheck::sm100
