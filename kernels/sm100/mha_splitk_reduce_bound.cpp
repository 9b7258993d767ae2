#include "kernels/sm100/mha_splitk_reduce_bound.h"

#include <algorithm>
#include <cmath>

#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"

// Derivation. u = 2^-24; M the largest exponent of the row, X = M in log2 units; T_p = l_p 2^(x_p - X); N[d] = sum T_p
// o_p[d], L = sum T_p, out = N / L. Products err by u relative or, where subnormal, by 2^-150; sums of f32 by u
// relative alone. A hat marks what the kernel computes.
//
// 1. M and each x_p are f32, so the exponent e^_p that ex2 sees is a known number and its distance delta_p from x_p -
// X,
//    too: delta_p is formed here, with the errors of double on top. It is 0 where e^_p = 0.
// 2. ex2 errs by eps and is exact at 0. Below -126 it is flushed to 0 for certain, at -126 it may be, above it is not
//    (2^-17 separates the floats there, and 2^(2^-17) is 44 ulps).
// 3. w_p = fl(l_p ex2(e^_p)): abs(w_p - T_p) <= omega_p = T_p phi_p + 2^-150, phi_p = 2^delta_p (1 + eps)(1 + u) - 1,
//    at least 1 where ex2 may be flushed. w_p = l_p exactly where e^_p = 0. A product of at most 2^-150 is 0.
// 4. total: every w_p passes through at most k = min(5, N - 1) additions, N the weights that are not 0 for certain:
//    abs(total - L) <= lambda L, lambda L = sum omega_p + gamma_k sum (T_p + omega_p). Where lambda < 1,
//    inv = fl(1 / total) = (1 + iota) / L, abs(iota) <= (1 + u + 2^-150 total) / (1 - lambda) - 1.
// 5. term_p = fl(o_p w_p), then Kahan's sum over all n = P terms. With x_i the terms, A the sum of their sizes, and
//      y_i = x_i - c_(i-1) + a_i,  s_i = s_(i-1) + y_i + b_i,  fl(s_i - s_(i-1)) = y_i + b_i + k_i,
//      c_i = b_i + k_i + n_i
//    the roundings a, b, k, n of its four operations give s_i - c_i = s_(i-1) - c_(i-1) + x_i + a_i - k_i - n_i, and
//      s_n = sum x_i + sum_(i <= n) a_i - sum_(i < n) (k_i + n_i) + b_n.
//    Suppose abs(s_i) <= (1 + 4u) A for i < n, as for s_0. Then abs(b_i) <= u (1 + 4u) A; C = sum_(i < n) abs(c_i) <= n
//    u (1 + 2^-20) A and Y = sum abs(y_i) <= (1 + (n + 2) u) A follow from each other for n <= 32; hence
//      sum abs(a_i) <= u (A + C), sum abs(k_i) <= u (Y + (n - 1) u (1 + 4u) A) <= u (1 + (2n + 2) u) A,
//      sum abs(n_i) <= u (n + 1) u A, abs(b_n) <= u (1 + 4u) A
//    and abs(s_n - sum x_i) <= K A, K = 3u + (4n + 8) u^2; so abs(s_n) <= (1 + 4u) A as well. (The usual 2u is for s_n
//    - c_n, which the kernel does not return: b_n, the last addition's rounding, comes on top.) abs(acc - N) <= E_acc =
//    sum abs(o_p) (omega_p + (u + K (1 + u)) (T_p + omega_p)) + n (1 + K) 2^-150.
// 6. out = fl(acc inv), psi = (1 + iota)(1 + u) - 1:
//    abs(out - x) <= abs(x) psi + (E_acc / L)(1 + psi) + 2^-150.
// 7. Partial sums may overflow from the largest f32 on: abs(s_i), abs(t - s), abs(y) <= (1 + 2^-17) A. Through the
//    compensation that can end in NaN or in an Inf of either sign; so where Inf may be due, too, every outcome is
//    allowed.
namespace lsecheck::sm100 {

namespace {

constexpr double kU = 0x1p-24;
constexpr double kHalfSmallest = 0x1p-150;
// Of 2^(x_p - X) in double: exp2_double's 2^-52 and the rounding of the exponent, at most 2^-51 * 1000; smaller terms
// are the interval [0, 2^-999 l_p].
constexpr double kTermError = 0x1p-40;
constexpr double kLog2e = 0x1.71547652b82fep+0;
// Sums of at most 32 double products.
constexpr double kSumSlack = 1 + 0x1p-40;
// total from here on has a finite reciprocal: 2^128 / (1 + 2^-21) rounds below Inf; that of 2^-128 is Inf.
constexpr double kFiniteInverse = 0x1p-128 + 0x1p-149;

struct Weight {
  double term_near = 0;  // T_p within kTermError
  double term_up = 0;
  double term_low = 0;
  double error = 0;  // omega_p
  WeightFate fate = WeightFate::empty;
};

// Steps 1 to 3 for a partition of mass l > 0 and finite x.
Weight weight_of(double x, double largest, double l, bool natural, const sfu::UnitAccuracy& unit) {
  const double difference = x - largest;
  const float d = static_cast<float>(x) - static_cast<float>(largest);
  const float seen = natural ? d * 0x1.715476p+0F : d;
  const double exponent = natural ? difference * kLog2e : difference;
  const bool exact = !natural && f32_subtraction_error(x, largest) == 0;
  const double delta =
      exact || seen == 0 ? 0 : add_up(std::abs(static_cast<double>(seen) - exponent), std::abs(exponent) * 0x1p-50);

  Weight w;
  const double factor = exp2_double(exponent);
  w.term_near = factor * l;
  w.term_up = mul_up(add_up(mul_up(factor, 1 + kTermError), exponent < -1000 ? 0x1p-999 : 0), l);
  w.term_low = exponent < -1000 ? 0 : mul_down(mul_down(factor, 1 - kTermError), l);
  if (seen == 0) {
    // Differences below half the smallest subnormal do not exist: x = M, the term is l and so is the weight.
    w.fate = WeightFate::nonzero;
    return w;
  }
  if (seen < -126.0F) {
    w.error = w.term_up;
    w.fate = WeightFate::zero;
    return w;
  }
  const double factor_error = compound(pow2_minus_one_up(delta), unit.ex2_relative);
  double phi = compound(factor_error, kU);
  const double product_low = sub_down(w.term_low, mul_up(w.term_up, factor_error));
  const double product_up = mul_up(w.term_up, add_up(1, factor_error));
  w.fate = product_up <= kHalfSmallest                       ? WeightFate::zero
           : product_low <= kHalfSmallest || seen == -126.0F ? WeightFate::either
                                                             : WeightFate::nonzero;
  if (seen == -126.0F) phi = std::max(phi, 1.0);
  w.error = add_up(mul_up(w.term_up, phi), kHalfSmallest);
  if (w.fate == WeightFate::zero) w.error = w.term_up;
  return w;
}

// Everything of a row that does not depend on its values.
struct RowErrors {
  std::vector<Weight> weights;  // [P]
  double sum_low = 0, sum_up = 0;
  double total_low = 0, total_up = 0;
  double lambda = 0;
  bool certainly_zero = true;  // total is 0
};

RowErrors row_errors(std::span<const double> x, std::span<const double> l, bool natural,
                     const sfu::UnitAccuracy& unit) {
  RowErrors row;
  const double largest = *std::max_element(x.begin(), x.end());
  row.weights.resize(x.size());
  double error = 0;
  std::uint64_t count = 0;
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] == -INFINITY || l[p] == 0) continue;  // w_p = l_p ex2(-inf) or 0 * ex2: exactly 0
    Weight& w = row.weights[p] = weight_of(x[p], largest, l[p], natural, unit);
    row.sum_low = add_down(row.sum_low, w.term_low);
    row.sum_up = add_up(row.sum_up, w.term_up);
    error = add_up(error, w.error);
    if (w.fate != WeightFate::zero) ++count;
  }
  row.certainly_zero = count == 0;
  if (row.certainly_zero) return row;
  const double added = mul_up(gamma_up(std::min<std::uint64_t>(5, count - 1), kU), add_up(row.sum_up, error));
  const double total_error = add_up(error, added);
  row.lambda = row.sum_low > 0 ? div_up(total_error, row.sum_low) : INFINITY;
  row.total_low = std::max(0.0, sub_down(row.sum_low, total_error));
  row.total_up = add_up(row.sum_up, total_error);
  return row;
}

// psi of step 6, lambda < 1.
double quotient_error(const RowErrors& row) {
  const double division = add_up(kU, mul_up(kHalfSmallest, row.total_up));
  const double iota = compound(division, div_up(row.lambda, sub_down(1, row.lambda)));
  return compound(iota, kU);
}

// What non-finite values under the partitions of one column come to.
struct NonFinite {
  bool certain_nan = false;
  std::uint8_t last_inf = 0;  // an Inf under the last partition, whose weight is not 0
  std::uint8_t possible = 0;  // by partitions whose weight may be 0
};

void see(NonFinite& seen, double value, WeightFate fate, bool last) {
  const std::uint8_t inf = value > 0 ? kPositiveInf : kNegativeInf;
  const bool gives_nan = std::isnan(value) || !last;
  if (fate == WeightFate::either) seen.possible |= gives_nan ? std::uint8_t{kNaN} : inf;
  if (fate != WeightFate::nonzero) return;
  if (gives_nan) {
    seen.certain_nan = true;
  } else {
    seen.last_inf = inf;
  }
}

// may_overflow: the sums of finite values can reach Inf. inf_due: so can the output without that.
std::uint8_t due_of(const NonFinite& seen, bool may_overflow, bool inf_due) {
  constexpr std::uint8_t kAnyInf = kPositiveInf | kNegativeInf;
  if (seen.certain_nan) return kNaN;
  if (seen.last_inf != 0) {
    return static_cast<std::uint8_t>(seen.last_inf | (seen.possible != 0 || may_overflow ? kNaN : 0));
  }
  if (seen.possible != 0) {
    return static_cast<std::uint8_t>(kFinite | seen.possible | (may_overflow ? kNaN | kAnyInf : 0));
  }
  if (may_overflow && inf_due) return kFinite | kNaN | kAnyInf;
  return static_cast<std::uint8_t>(kFinite | (may_overflow ? kNaNByOverflow : 0));
}

bool all_nan(const RowInput& row) {
  bool any_exponent = false;
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    if (std::isnan(row.lse[p]) || row.lse[p] == INFINITY || !std::isfinite(row.mass[p])) return true;
    any_exponent = any_exponent || row.lse[p] != -INFINITY;
  }
  return !any_exponent;
}

// The bound of a row, and what bounds its exact values.
struct BoundAndSize {
  RowBound bound;
  std::vector<double> x_up;  // [D] >= abs(x)
};

BoundAndSize bound_and_size(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit) {
  const std::size_t depth = row.due.size();
  const RowErrors errors = row_errors(row.x, row.l, row.base == ExponentBase::natural, unit);
  BoundAndSize both{{}, std::vector<double>(depth, INFINITY)};
  RowBound& result = both.bound;
  result.bound.assign(depth, INFINITY);
  result.bound_before_cast.assign(depth, INFINITY);
  result.inf_allowed.assign(depth, 1);
  if (!(errors.lambda < 1) || errors.total_low < kFiniteInverse) return both;  // the contract grades no element

  const auto n = static_cast<double>(row.x.size());
  const double kahan = add_up(3 * kU, mul_up(4 * n + 8, kU * kU));
  const double per_term = add_up(kU, mul_up(kahan, 1 + kU));
  const double psi = quotient_error(errors);
  const double subnormal_terms = mul_up(mul_up(n, add_up(1, kahan)), kHalfSmallest);
  std::vector<double> error(depth, 0.0);       // sum of abs(o_p) (omega_p + per_term (T_p + omega_p))
  std::vector<double> magnitude(depth, 0.0);   // sum of abs(o_p) (T_p + omega_p)
  std::vector<double> signed_sum(depth, 0.0);  // N
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    const Weight& w = errors.weights[p];
    if (w.fate == WeightFate::empty) continue;
    const double weight_up = add_up(w.term_up, w.error);
    const double error_factor = add_up(w.error, mul_up(per_term, weight_up));
    for (std::size_t d = 0; d < depth; ++d) {
      const double o = row.a[p * depth + d] / row.l[p];  // a = l o is exact, and so is this
      error[d] += error_factor * std::abs(o);
      magnitude[d] += weight_up * std::abs(o);
      signed_sum[d] += w.term_near * o;
    }
  }
  for (std::size_t d = 0; d < depth; ++d) {
    const double size_up = mul_up(magnitude[d], kSumSlack);
    const double acc_error = add_up(mul_up(error[d], kSumSlack), subnormal_terms);
    // N and L are each known to 2 kTermError of what they sum.
    const double numerator_up = add_up(std::abs(signed_sum[d]), mul_up(size_up, 2 * kTermError));
    const double x_up = div_up(numerator_up, errors.sum_low);
    both.x_up[d] = x_up;
    const double e =
        add_up(add_up(mul_up(x_up, psi), mul_up(div_up(acc_error, errors.sum_low), add_up(1, psi))), kHalfSmallest);
    result.bound_before_cast[d] = e;
    result.bound[d] = out == DType::f32 ? e : add_up(e, cast_error_up(out, add_up(x_up, e)));
    result.inf_allowed[d] = add_up(mul_up(size_up, 1 + 0x1p-16), subnormal_terms) >= max_finite(DType::f32);
  }
  return both;
}

}  // namespace

RowBound mha_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit) {
  return bound_and_size(row, out, unit).bound;
}

RowExpectation mha_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit) {
  RowExpectation expectation;
  if (all_nan(row)) {
    expectation.row_class = RowClass::all_nan;
    return expectation;
  }
  const bool natural = shape.exponent == ExponentForm::natural;
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const std::size_t num_partitions = row.lse.size();
  expectation.base = natural ? ExponentBase::natural : ExponentBase::log2;
  expectation.x.assign(row.lse.begin(), row.lse.end());
  expectation.l.assign(row.mass.begin(), row.mass.end());
  const RowErrors errors = row_errors(expectation.x, expectation.l, natural, unit);
  if (errors.certainly_zero) {
    expectation.row_class = RowClass::all_nan;
    return expectation;
  }
  expectation.a.assign(num_partitions * depth, 0.0);
  std::vector<NonFinite> seen(depth);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    if (errors.weights[p].fate == WeightFate::empty) continue;
    for (std::size_t d = 0; d < depth; ++d) {
      const double value = decode(shape.partial, row.o[p * depth + d]);
      if (std::isfinite(value)) {
        expectation.a[p * depth + d] = value * row.mass[p];
      } else {
        see(seen[d], value, errors.weights[p].fate, p + 1 == num_partitions);
      }
    }
  }
  constexpr std::uint8_t kNotFinite = kNaN | kPositiveInf | kNegativeInf;
  const bool infinite_inverse = errors.total_up <= 0x1p-128;
  const bool unknown_inverse =
      !(errors.lambda < 1) || errors.total_low < kFiniteInverse || errors.total_up >= max_finite(DType::f32);
  expectation.due.assign(depth, infinite_inverse ? kNotFinite : std::uint8_t{kFinite | kNotFinite});
  if (infinite_inverse || unknown_inverse) return expectation;
  const auto [bound, x_up] = bound_and_size(expectation, shape.out, unit);
  for (std::size_t d = 0; d < depth; ++d) {
    const bool inf_due = add_up(x_up[d], bound.bound[d]) >= overflow_threshold(shape.out);
    expectation.due[d] = due_of(seen[d], bound.inf_allowed[d] != 0, inf_due);
  }
  return expectation;
}

}  // namespace lsecheck::sm100
