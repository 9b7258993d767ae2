#include "properties/explain_fa4.h"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <limits>

#include "kernels/sfu/sfu.h"
#include "reference/float_format.h"

namespace lsecheck {
namespace {

// LSEs reach 2^100 and are multiples of 2^-149, so that differences are exact in 300 bits; the rest is for the shares,
// which are differences of nearly equal results.
using Exact =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<301>, boost::multiprecision::et_off>;

Exact exp2_of(const Exact& x) {
  Exact result;
  mpfr_exp2(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

Exact log2_of(const Exact& x) {
  Exact result;
  mpfr_log2(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

ExplainedValue beside(float kernel, const Exact& exact) {
  const Exact error = Exact(kernel) - exact;
  return {kernel, exact.convert_to<double>(), error.convert_to<double>()};
}

constexpr int kLanes = 32;

// s in the warp's order: each lane over its slots, then the butterfly xor 16, 8, 4, 2, 1, which is the same in every
// lane because f32 addition commutes.
float sum_of_weights(const std::vector<float>& lse, float m, const sfu::Unit& unit) {
  std::array<float, kLanes> lane_sum{};
  for (int lane = 0; lane < kLanes; ++lane) {
    float sum = 0;
    for (std::size_t p = static_cast<std::size_t>(lane); p == static_cast<std::size_t>(lane) || p < lse.size();
         p += kLanes) {
      const float exponent = p < lse.size() ? lse[p] : -std::numeric_limits<float>::infinity();
      const float term = sfu::ex2_approx_ftz(unit, exponent - m);
      sum = p < kLanes ? term : sum + term;
    }
    lane_sum[static_cast<std::size_t>(lane)] = sum;
  }
  for (std::size_t offset = kLanes / 2; offset > 0; offset /= 2) {
    for (std::size_t lane = 0; lane < offset; ++lane) lane_sum[lane] = lane_sum[lane] + lane_sum[lane + offset];
  }
  return lane_sum[0];
}

// The element's column of the case.
struct Column {
  std::vector<float> lse;  // [P]
  std::vector<double> o;   // [P]; 0 under an empty partition
};

Column column_of(const CaseTensors& tensors, std::size_t row_head, std::size_t depth_index) {
  Column column;
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    column.lse.push_back(tensors.lse_partial[tensors.lse_index(p, row_head)]);
    const std::uint32_t bits = tensors.o_partial[tensors.o_index(p, row_head, depth_index)];
    column.o.push_back(std::isinf(column.lse.back()) ? 0 : decode(tensors.spec.partial, bits));
  }
  return column;
}

}  // namespace

Fa4Explanation explain_fa4(const CaseTensors& tensors, std::size_t row_head, std::size_t depth_index) {
  const sfu::Unit& unit = tensors.spec.unit;
  const Column column = column_of(tensors, row_head, depth_index);
  const std::size_t count = column.lse.size();
  Fa4Explanation result;
  result.m = *std::max_element(column.lse.begin(), column.lse.end());
  const float s = sum_of_weights(column.lse, result.m, unit);
  const float g = sfu::lg2_approx(unit, s) + result.m;

  Exact exact_s = 0;
  for (const float lse : column.lse) {
    if (!std::isinf(lse)) exact_s += exp2_of(Exact(lse) - Exact(result.m));
  }
  const Exact exact_g = log2_of(exact_s) + Exact(result.m);
  result.s = beside(s, exact_s);
  result.g = beside(g, exact_g);

  Exact exact_out = 0;  // everything exact
  Exact behind_s = 0;   // s in f32, exact from there on
  Exact behind_g = 0;   // s and g in f32
  Exact behind_w = 0;   // and the weights
  float acc = 0;
  for (std::size_t p = 0; p < count; ++p) {
    if (std::isinf(column.lse[p])) continue;
    const Exact lse = column.lse[p];
    const Exact o = column.o[p];
    const float weight = sfu::ex2_approx_ftz(unit, column.lse[p] - g);
    const Exact unnormalised = exp2_of(lse - Exact(result.m));
    const Exact exact_weight = unnormalised / exact_s;
    exact_out += exact_weight * o;
    behind_s += unnormalised / Exact(s) * o;
    behind_g += exp2_of(lse - Exact(g)) * o;
    behind_w += Exact(weight) * o;
    acc = std::fma(weight, weight != 0 ? static_cast<float>(column.o[p]) : 0.0F, acc);
    result.partitions.push_back(
        {static_cast<int>(p), column.lse[p], column.o[p], beside(weight, exact_weight), beside(acc, exact_out)});
  }
  result.exact = exact_out.convert_to<double>();
  result.out_bits = round_to_nearest_even(tensors.spec.out, acc);
  const Exact stored = decode(tensors.spec.out, result.out_bits);

  const Exact ulp = ulp_at(tensors.spec.out, result.exact);
  const auto share = [&](const Exact& with_step, const Exact& without) {
    const Exact change = (with_step - without) / ulp;
    return change.convert_to<double>();
  };
  result.ulp = {share(behind_s, exact_out),  share(behind_g, behind_s), share(behind_w, behind_g),
                share(Exact(acc), behind_w), share(stored, Exact(acc)), share(stored, exact_out)};
  return result;
}

}  // namespace lsecheck
