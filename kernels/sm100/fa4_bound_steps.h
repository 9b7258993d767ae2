#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"
#include "reference/device_callable.h"

// The steps of fa4_row_bound(), for the host and for a device.
//
// Derivation, continued from fa4_weight_error.cpp, which gives for every weight abs(w^_p - W_p) <= phi_p W_p.
//
// 8. acc = 0; acc = fma(w_p, o_p, acc), p ascending, over the K partitions whose weight is not certainly 0. fma(0, 0,
// acc) = acc is
//    exact, so the term of p is rounded once for every such partition from p on, k_p <= K times:
//    abs(acc - sum W_p o_p) <= sum W_p abs(o_p) ((1 + phi_p)(1 + gamma_{k_p}) - 1) + K 2^-150 (1 + gamma_K),
//    the last part for results below 2^-126, where one rounding errs by half of 2^-149 whatever the size.
//    A partition whose weight is certainly flushed is missing altogether: phi = 1, and no rounding.
//    Call this E[d]. It bounds the f32 value before the cast.
// 9. out = acc rounded to T: half an ulp of T at the largest magnitude acc can have, abs(x) + E. No rounding for T =
// f32. Inf: the partial sums are below sum W_p abs(o_p) (1 + psi_p); where that stays under the largest f32, none
// overflows.
namespace lsecheck::sm100 {

// Sums of P non-negative doubles, each term one product: relative error below gamma(P + 1) of double; 2^-40 covers P <=
// 1000.
inline constexpr double kColumnSumSlack = 1 + 0x1p-40;

LSECHECK_ANYWHERE bool is_folded(const Fa4PartitionWeight& w) {
  return w.fate == WeightFate::nonzero || w.fate == WeightFate::either;
}

// W_p psi_p of a non-empty partition; folded_from_here: k_p.
LSECHECK_ANYWHERE double error_factor(const Fa4PartitionWeight& w, std::uint64_t folded_from_here) {
  double psi = w.relative_error;
  if (is_folded(w)) {
    const double gamma = gamma_up(folded_from_here, 0x1p-24);
    psi = add_up(add_up(psi, gamma), mul_up(psi, gamma));
  }
  return mul_up(w.weight_up, psi);
}

// The sums of one column over the non-empty partitions, added in their order.
struct Fa4ColumnSums {
  double error = 0;       // sum of W_p psi_p abs(o_p)
  double magnitude = 0;   // sum of W_p abs(o_p)
  double signed_sum = 0;  // sum of W_p o_p

  LSECHECK_ANYWHERE void add(double partition_error_factor, const Fa4PartitionWeight& w, double o) {
    error += partition_error_factor * std::fabs(o);
    magnitude += w.weight_up * std::fabs(o);
    signed_sum += w.weight_near * o;
  }
};

struct ColumnBound {
  double bound = 0;
  double before_cast = 0;
  bool inf_allowed = false;
};

// folded: K.
LSECHECK_ANYWHERE ColumnBound column_bound(const Fa4ColumnSums& sums, std::uint64_t folded, DType out) {
  // At least one term: where a sink leaves no weight but flushed ones, the products above may underflow double itself.
  const double terms = folded == 0 ? 1 : static_cast<double>(folded);
  const double subnormal_part = mul_up(mul_up(terms, 0x1p-150), 1 + 0x1p-10);
  const double size_up = mul_up(sums.magnitude, kColumnSumSlack);
  const double e = add_up(mul_up(sums.error, kColumnSumSlack), subnormal_part);
  // abs(x) from the weights known to kWeightNearError, plus the double roundings of the sum.
  const double x_up = add_up(std::fabs(sums.signed_sum), mul_up(size_up, 4 * kWeightNearError));
  const double bound = out == DType::f32 ? e : add_up(e, cast_error_up(out, add_up(x_up, e)));
  constexpr double kLargestF32 = (2 - 0x1p-23) * 0x1p127;
  return {bound, e, add_up(size_up, e) >= kLargestF32};
}

}  // namespace lsecheck::sm100
