#include "kernels/sm100/fa4_weight_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sm100/fa4_weight_steps.h"
#include "reference/sink_exponent.h"

namespace lsecheck::sm100 {

namespace {

constexpr double kNoLse = -std::numeric_limits<double>::infinity();

// Steps 1 to 3.
ScaledSum scaled_sum(std::span<const double> x, double m, const sfu::UnitAccuracy& unit) {
  ScaledSum sum;
  for (const double x_p : x) {
    if (x_p != kNoLse) sum.add(scaled_term(x_p, m, unit));
  }
  sum.finish(x.size());
  return sum;
}

// Step 5s. sink: f32, finite or -inf.
GlobalLse with_sink(double m, const GlobalLse& g, double sink, const sfu::UnitAccuracy& unit) {
  constexpr double kNoExponent = -1e6;  // of a sink of -inf: below every flush
  const bool finite = sink != -std::numeric_limits<double>::infinity();
  // The kernel's a, one f32 product, and its distance from A.
  const double a = finite ? static_cast<double>(static_cast<float>(sink) * 0x1.715476p+0F) : 0;
  const double above_m = finite ? sink_exponent_above(sink, m) : kNoExponent;
  const double a_error = finite ? round_up(std::abs(sink_exponent_above(sink, a)) * (1 + 0x1p-50)) : 0;

  // A - G, and the exponent error of q.
  const double h = above_m - g.above;
  const double h_margin = add_up(g.margin, (std::abs(above_m) + std::abs(h)) * 0x1p-51);
  const double distance = add_up(add_up(std::abs(h), h_margin), add_up(a_error, g.delta));
  const double tau_h = finite ? cast_error_up(DType::f32, distance) : 0;
  const double e_q = add_up(add_up(a_error, tau_h), 2 * unit.ex2_relative);
  const double q_exponent_up = add_up(add_up(h, h_margin), add_up(e_q, g.delta));
  const double q_up =
      q_exponent_up > 1000 ? 0x1p1000 : add_up(mul_up(exp2_double(q_exponent_up), 1 + 0x1p-50), 0x1p-999);
  const double sigma_up = std::min(1.0, q_up);  // sigma = q / (1 + q)

  // lg2(v), v in [1, 1 + q_up].
  const double v_up = mul_up(add_up(1, q_up), 1 + 2 * kF32Unit);
  const double lg2_exact_up = add_up(log2_double(v_up), 0x1p-40);
  const bool v_is_one = q_up < kF32Unit / 2;
  const double eta = log2_error(unit, v_is_one, 1, v_up, lg2_exact_up);
  const double v_rounding = mul_up(std::min(kF32Unit, q_up), mul_up(kInverseLn2Up, 1.0001));
  const double lg2_up = v_is_one ? eta : add_up(lg2_exact_up, eta);
  const double up = add_up(g.up, lg2_up);
  const double low = sub_down(g.low, eta);
  const double rho = std::min(lg2_up, cast_error_up(DType::f32, std::max(std::abs(up), std::abs(low))));

  GlobalLse result;
  // log2(1 + 2^h), without forming 2^h where it is huge; the derivative with respect to h is below 1.
  result.above = g.above + (h > 60 ? h : log2_double(1 + exp2_double(h)));
  result.margin = add_up(add_up(g.margin, sigma_up * h_margin), 0x1p-45 * (1 + std::abs(result.above)));
  result.delta = add_up(add_up(g.delta, mul_up(sigma_up, e_q)), add_up(add_up(v_rounding, eta), rho));
  result.low = low - rho;
  result.up = up + rho;
  return result;
}

}  // namespace

std::vector<Fa4PartitionWeight> fa4_weight_errors(std::span<const double> x, const sfu::UnitAccuracy& unit,
                                                  std::optional<double> sink) {
  const double m = *std::max_element(x.begin(), x.end());
  GlobalLse g = global_lse(m, scaled_sum(x, m, unit), unit);
  if (sink) g = with_sink(m, g, *sink, unit);
  std::vector<Fa4PartitionWeight> weights(x.size());
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] != kNoLse) weights[p] = partition_weight(x[p], m, g, unit, sink.has_value());
  }
  return weights;
}

}  // namespace lsecheck::sm100
