#include "reference/certified_exponents.h"

#include <algorithm>
#include <cmath>

#include "reference/double_double.h"
#include "reference/vector4.h"

// In the derivations u = 2^-53 and all exponents that matter are in [-701, 1]. Where a term is far below, nothing but
// its being there is used.
namespace lsecheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log2 e = kLog2E + kLog2ELow within 2^-109.
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLog2ELow = 0x1.777d0ffda0d24p-56;

// A hi that is set for terms below kLeastExponent, so that neither overflow nor cancellation leaves something else.
constexpr double kFarBelow = -2000;

}  // namespace

void RowExponents::append(double x, double term_mass, std::size_t term_partition) {
  hi[size_] = x;
  mass[size_] = term_mass;
  partition[size_] = term_partition;
  ++size_;
}

bool RowExponents::gather(const RowProblem& problem) {
  const std::size_t most = (problem.x.size() + 1 + 3) / 4 * 4;
  hi.resize(most);
  lo.resize(most);
  mass.resize(most);
  partition.resize(most);
  size_ = 0;
  bool valid = true;
  for (std::size_t p = 0; p < problem.x.size(); ++p) {
    const double x = problem.x[p];
    if (x == -kInfinity) continue;
    const double term_mass = problem.l.empty() ? 1.0 : problem.l[p];
    valid = valid && x < kInfinity && term_mass >= 0 && term_mass < kInfinity;  // false for NaN
    append(x, term_mass, p);
  }
  return valid;
}

bool RowExponents::build(const RowProblem& problem) {
  if (!gather(problem)) return false;
  is_plain_ = problem.l.empty();
  is_sharp_ = true;
  is_natural_ = problem.base == ExponentBase::natural;
  is_shifted_ = false;
  const double sink = problem.sink.value_or(-kInfinity);
  if (sink == -kInfinity) return size_ > 0 && relate(sink);
  if (!std::isfinite(sink)) return false;
  is_plain_ = false;
  if (!is_natural_) return size_ > 0 && relate(sink);
  append(sink, 1.0, kNoPartition);
  return relate(-kInfinity);
}

// x - m is exact as a pair. In base e it is multiplied by log2 e: abs(x - m) <= 487 where it matters, so that abs(q) <
// 2^-42 below, each of the two roundings into q is at most 2^-95, and what is left out (the residual times kLog2ELow,
// the error of log2 e) is below 2^-99. A sink in log2 units is a pair within abs(sink) 2^-104 + 2^-95, by the same
// steps. If it exceeds every x it becomes the reference, which is taken away from each exponent with two more roundings
// of 2^-95. Altogether at most 2^-93 as long as abs(sink) <= 2^10, and 2^-60 as long as abs(sink) <= 2^43.
bool RowExponents::relate(double sink) {
  const double m = *std::max_element(hi.begin(), hi.begin() + static_cast<std::ptrdiff_t>(size_));
  const std::size_t padded = (size_ + 3) / 4 * 4;
  for (std::size_t i = size_; i < padded; ++i) {
    hi[i] = m;
    mass[i] = 0;
  }

  DoubleDouble reference{0, 0};
  DoubleDouble sink_exponent{0, 0};
  if (sink != -kInfinity) {
    const double magnitude = std::fabs(sink);
    if (magnitude > 0x1p43) return false;
    is_sharp_ = magnitude <= 0x1p10;
    const double product = sink * kLog2E;
    const double residual = std::fma(sink, kLog2ELow, std::fma(sink, kLog2E, -product));
    const DoubleDouble difference = two_sum(product, -m);
    sink_exponent = two_sum(difference.hi, difference.lo + residual);
    if (sink_exponent.hi > 0) {
      is_shifted_ = true;
      reference = sink_exponent;
      sink_exponent = {0, 0};
    }
  }

  const Vector4 top = splat(-m);
  for (std::size_t i = 0; i < padded; i += 4) {
    const Vector4 x = load4(&hi[i]);
    Vector4 s = x + top;
    const Vector4 top_part = s - x;
    Vector4 q = (x - (s - top_part)) + (top - top_part);
    if (is_natural_) {
      const Vector4 product = s * splat(kLog2E);
      q = fma(q, splat(kLog2E), fma(s, splat(kLog2E), -product));
      q = fma(s, splat(kLog2ELow), q);
      s = product;
    }
    if (is_shifted_) {
      const Vector4 shift = splat(-reference.hi);
      const Vector4 shifted = s + shift;
      const Vector4 shift_part = shifted - s;
      q = (q - splat(reference.lo)) + ((s - (shifted - shift_part)) + (shift - shift_part));
      s = shifted;
    }
    const Bits4 far_below = !(s >= splat(kLeastExponent));  // NaN, from an overflow, too
    store4(&hi[i], far_below ? splat(kFarBelow) : s);
    store4(&lo[i], far_below ? splat(0.0) : q);
  }
  if (sink != -kInfinity) {
    const bool far_below = !(sink_exponent.hi >= kLeastExponent);
    append(far_below ? kFarBelow : sink_exponent.hi, 1.0, kNoPartition);
    lo[size_ - 1] = far_below ? 0.0 : sink_exponent.lo;
    for (std::size_t i = size_; i % 4 != 0; ++i) {
      hi[i] = lo[i] = mass[i] = 0;
    }
  }
  return true;
}

}  // namespace lsecheck
