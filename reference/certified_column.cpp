#include "reference/certified_column.h"

#include <cmath>

#include "reference/certified_weight.h"
#include "reference/float_format.h"

namespace lsecheck {
namespace {

// What underflow takes from a sum: below 2^-1070 an operation.
constexpr double kUnderflow = 0x1p-1000;

// value - t * mass; nullopt when no double holds it.
std::optional<double> exact_coefficient(double value, double mass, DoubleDouble t) {
  if (mass == 0) return value;
  double coefficient = value;
  for (const double part : {t.hi, t.lo}) {
    const double product = part * mass;
    // Below 2^-900 the residual might underflow.
    if (mass != 1 && part != 0 && (std::fma(part, mass, -product) != 0 || std::fabs(product) < 0x1p-900)) {
      return std::nullopt;
    }
    const DoubleDouble difference = two_sum(coefficient, -product);
    if (difference.lo != 0 || !std::isfinite(difference.hi)) return std::nullopt;
    coefficient = difference.hi;
  }
  return coefficient;
}

// A sum of doubles that knows whether it was rounded.
struct ExactSum {
  double value = 0;
  bool is_exact = true;

  void add(double term) {
    const DoubleDouble sum = two_sum(value, term);
    value = sum.hi;
    is_exact = is_exact && sum.lo == 0;
  }
};

int sign_of(double x) {
  return (x > 0) - (x < 0);
}

}  // namespace

// u = 2^-53. A weight is off by kExponentError * ln 2 * 1.01 + kExp2DoubleDoubleError < 2^-93.2 relative; scaling is
// exact. A product rounds by 1.6 u^2, each of n sums by 3.1 u^2 of a partial sum, which sum w abs(c) bounds: 2^-93.2 +
// (1.6 + 3.1 n) u^2, and 1.1 covers the second order and the rounding of sum w abs(c) itself.
bool DoubleDoubleWeights::compute(const RowExponents& row) {
  exponents = &row;
  if (!row.is_sharp() || row.size() > (std::size_t{1} << 20)) return false;
  weight.assign(row.size(), {});
  is_exact.assign(row.size(), 0);
  const double scale = two_to_the(kWeightScale);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row.is_tiny(i)) continue;
    const DoubleDouble w = exp2_double_double({row.hi[i], row.lo[i]});
    weight[i] = {w.hi * scale, w.lo * scale};
    is_exact[i] = row.is_exact(i) && row.lo[i] == 0 && row.hi[i] == std::nearbyint(row.hi[i]);
  }
  sum_error = 1.1 * (0x1p-93 + (2 + 4 * static_cast<double>(row.size())) * 0x1p-106);
  return true;
}

ColumnSums sum_column(const DoubleDoubleWeights& weights, std::span<const double> values) {
  ColumnSums sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = values[i];
    if (weights.exponents->is_tiny(i)) {
      (a < 0 ? sums.below : sums.above) += std::fabs(a);
    } else if (a != 0) {
      sums.sum = add(sums.sum, multiply(weights.weight[i], a));
      sums.size = add(sums.size, multiply(weights.weight[i], std::fabs(a)));
    }
  }
  return sums;
}

std::optional<int> side_of(const DoubleDoubleWeights& weights, std::span<const double> values, DoubleDouble t) {
  DoubleDouble sum;
  ExactSum exact;  // while all weights are powers of two
  double size = 0;
  double below = 0;
  double above = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<double> c = exact_coefficient(values[i], weights.exponents->mass[i], t);
    if (!c) return std::nullopt;
    if (*c == 0) continue;
    if (weights.exponents->is_tiny(i)) {
      (*c < 0 ? below : above) += std::fabs(*c);
      continue;
    }
    const DoubleDouble w = weights.weight[i];
    sum = add(sum, multiply(w, *c));
    size += w.hi * std::fabs(*c);
    exact.is_exact = exact.is_exact && weights.is_exact[i] != 0;
    exact.add(w.hi * *c);  // a power of two that is at least 1 times a double
  }
  if (!std::isfinite(size)) return std::nullopt;
  if (exact.is_exact && exact.value == 0 && (below == 0 || above == 0)) return (above > 0) - (below > 0);
  // 1.03 covers the roundings of these sums.
  const double radius = size > 0 ? weights.sum_error * size + kUnderflow : 0;
  if (sum.hi > 1.03 * (radius + below) || -sum.hi > 1.03 * (radius + above)) return sign_of(sum.hi);
  return std::nullopt;
}

}  // namespace lsecheck
