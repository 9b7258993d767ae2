#include "kernels/sm100/fa4_splitk_combine_bound.h"

#include <Eigen/Core>
#include <cmath>

#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"

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

namespace {

constexpr double kU = 0x1p-24;

// Sums of P non-negative doubles, each term one product: relative error below gamma(P + 1) of double; 2^-40 covers P <=
// 1000.
constexpr double kSumSlack = 1 + 0x1p-40;

}  // namespace

RowBound fa4_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit) {
  const std::size_t depth = row.due.size();
  const std::vector<Fa4PartitionWeight> weights = fa4_weight_errors(row.x, unit, row.sink);

  using Elements = Eigen::ArrayXd;
  const auto count = static_cast<Eigen::Index>(depth);
  Elements error = Elements::Zero(count);      // sum of c_p abs(o_p), c_p = W_p psi_p
  Elements magnitude = Elements::Zero(count);  // sum of W_p abs(o_p)
  Elements signed_sum = Elements::Zero(count);
  std::uint64_t folded_from_here = 0;
  for (const Fa4PartitionWeight& w : weights)
    folded_from_here += w.fate == WeightFate::nonzero || w.fate == WeightFate::either;
  const std::uint64_t folded = folded_from_here;
  for (std::size_t p = 0; p < weights.size(); ++p) {
    const Fa4PartitionWeight& w = weights[p];
    if (w.fate == WeightFate::empty) continue;
    double psi = w.relative_error;
    if (w.fate != WeightFate::zero) {
      const double gamma = gamma_up(folded_from_here--, kU);
      psi = add_up(add_up(psi, gamma), mul_up(psi, gamma));
    }
    const double error_factor = mul_up(w.weight_up, psi);
    const Eigen::Map<const Elements> o(row.a.data() + p * depth, count);
    error += error_factor * o.abs();
    magnitude += w.weight_up * o.abs();
    signed_sum += w.weight_near * o;
  }

  // At least one term: where a sink leaves no weight but flushed ones, the products above may underflow double itself.
  const auto terms = static_cast<double>(std::max<std::uint64_t>(folded, 1));
  const double subnormal_part = mul_up(mul_up(terms, 0x1p-150), 1 + 0x1p-10);
  RowBound result;
  result.bound.resize(depth);
  result.bound_before_cast.resize(depth);
  result.inf_allowed.resize(depth);
  for (std::size_t d = 0; d < depth; ++d) {
    const auto i = static_cast<Eigen::Index>(d);
    const double size_up = mul_up(magnitude[i], kSumSlack);
    const double e = add_up(mul_up(error[i], kSumSlack), subnormal_part);
    // abs(x) from the weights known to kWeightNearError, plus the double roundings of the sum.
    const double x_up = add_up(std::abs(signed_sum[i]), mul_up(size_up, 4 * kWeightNearError));
    result.bound_before_cast[d] = e;
    result.bound[d] = out == DType::f32 ? e : add_up(e, cast_error_up(out, add_up(x_up, e)));
    result.inf_allowed[d] = add_up(size_up, e) >= max_finite(DType::f32);
  }
  return result;
}

}  // namespace lsecheck::sm100
