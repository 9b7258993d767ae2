#include "properties/recorded_error_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sfu/sfu.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"

namespace lsecheck {
namespace {

constexpr double kU = unit_roundoff(DType::f32);
constexpr double kLog2EUp = 0x1.71547652b82ffp+0;  // log2 e = 0x1.71547652b82fe177...p+0
// Whatever an f32 operation leaves or takes below the normal range may be flushed.
constexpr double kFlush = 0x1p-126;
// A weight this far below the maximum is treated as absent: exact and computed weight are both below kFlush, see
// vanished().
constexpr double kVanishing = 256;
// Limits the growth of absolute errors, so that 2^-192 times it stays below kFlush.
constexpr double kMaxGrowth = 0x1p60;
// 1 + kNear exceeds a few factors 1 + u.
constexpr double kNear = 0x1p-20;

double times(double a, double b) {
  return mul_up(a, b);
}
double times(double a, double b, double c) {
  return mul_up(mul_up(a, b), c);
}
double plus(double a, double b) {
  return add_up(a, b);
}
double plus(double a, double b, double c) {
  return add_up(add_up(a, b), c);
}

// One f32 operation whose result is then stored in the intermediate type: (1 + u)(1 + u_i) - 1.
double unit_with_store(DType intermediate) {
  return intermediate == DType::f32 ? kU : compound(kU, unit_roundoff(intermediate));
}

// The same below the normal range. bf16 has f32's exponents; f16 rounds to multiples of 2^-24 there.
double absolute_with_store(DType intermediate) {
  return intermediate == DType::f16 ? plus(0x1p-25, kFlush) : kFlush;
}

// What the base adds to a difference of two LSEs.
struct Domain {
  bool natural;
  double kappa;     // log2 units per unit of the base, rounded up
  double relative;  // of a difference, as an exponent of two: the subtraction; natural: times log2e, itself rounded

  explicit Domain(ExponentBase base)
      : natural(base == ExponentBase::natural),
        kappa(natural ? kLog2EUp : 1.0),
        relative(gamma_up(natural ? 3 : 1, kU)) {}

  // A natural LSE of magnitude z multiplied by log2e before it is used: the constant's and the product's rounding.
  double conversion(double z) const { return natural ? times(gamma_up(2, kU), kappa, z) : 0.0; }
  // Absolute part of a difference's error: both operands converted, then the relative rounding of what that gives.
  double difference(double z) const { return times(plus(1.0, relative), times(2.0, conversion(z))); }
};

// With the computed exponent off by at most delta, exact and computed weight are below 2^-192 (times the growth, at
// most 2^60), so their difference is below kFlush.
bool vanished(double below_max, double delta) {
  return below_max >= kVanishing && delta <= below_max / 4;
}

// -log2(1 - h) <= log2e h / (1 - h): an error h of a sum as an error of its logarithm, in either direction.
double log2_of_relative(double h) {
  return times(kLog2EUp, div_up(h, sub_down(1.0, h)));
}

// K of streaming_errors: one exponential in flat; in online one for every partition, empty or not, and for 8 levels of
// merging.
std::size_t num_rescales(CombineClass combine, const RowExponents& row) {
  return combine == CombineClass::flat ? 1 : row.num_partitions + 8;
}

// The largest error of the computed LSE beyond that of the sum it is the logarithm of, in log2 units; and the exponent
// error of a weight that is normalised through it.
struct GlobalLse {
  double error;
  double exponent_error;
};

GlobalLse global_lse(const Domain& domain, const RowExponents& row, double sum_log2_error) {
  const auto unit = sfu::accuracy_of(sfu::UnitKind::spec);
  // log2 of the computed sum, which lies in [1 - h, n (1 + h)] with h < 1/2.
  const double log2_sum = plus(log2_double(times(row.sum, plus(1.0, row.sum_error))),
                               plus(kLog2AbsoluteError, times(kLog2RelativeError, 1100.0)));
  const double log2_magnitude = plus(std::max(log2_sum, 0.0), sum_log2_error);
  // lg2: absolute on (0.5, 2), relative beyond. A natural logarithm is that times ln2 (rounded), rounded.
  double lg2_error = times(std::max(unit.lg2_absolute, unit.lg2_relative), std::max(1.0, log2_magnitude));
  if (domain.natural) lg2_error = plus(lg2_error, times(gamma_up(2, kU), plus(log2_magnitude, lg2_error)));
  const double lg2_magnitude = plus(log2_magnitude, lg2_error);
  // max + log: at most this large, in the units of the base (kappa >= 1) and in log2 units.
  const double magnitude = plus(row.largest_magnitude, lg2_magnitude);
  // Its rounding; the maximum is representable, so rounding to nearest moves the sum by no more than the logarithm it
  // added.
  const double sum_rounding = std::min(times(times(kU, 1.0 + kNear), domain.kappa, magnitude), lg2_magnitude);
  const double error = plus(plus(lg2_error, sum_rounding), plus(domain.conversion(row.largest_magnitude), 16 * kFlush));
  // x_p - LSE: its distance beyond max - x_p (charged with the weight) is log2 of the sum and the errors so far.
  const double difference = plus(times(domain.relative, plus(log2_magnitude, error)), domain.difference(magnitude));
  // A natural LSE may have been computed in log2 units and converted back: no more than domain.difference.
  return {plus(error, domain.difference(magnitude)), plus(error, difference)};
}

// flat and online, derived together. Count for one partition p, from its weight to the output:
//
//   exponents   K differences whose exact values add up to at most max - x_p, because the reference exponent only
//   rises: relative errors add
//               up to `relative` times that, conversions to K times theirs. flat: K = 1.
//   ex2         K of them, each (1 + ex2_relative); the first is the weight, the others the rescales.
//   roundings   flat: the stored weight, once more when it is normalised before use, the product, n - 1 additions.
//   online: the stored weight and
//               the product; then at each of K steps the stored rescale, a product and an addition. And one store of
//               the result. Fused or reordered: fewer. N = n + 3 or 3 K + 3, each possibly with a store.
//
// So accumulator = sum 2^t_p (1 + a_p) o_p with abs(a_p) <= A_p, and the sum likewise with the same counts: its
// relative error is at most H = sum w_p A_p + flushes. Normalising divides: 1 / (1 - H), a division or a reciprocal
// (rcp_relative) and a product. Or it goes through the LSE, as one more ex2 with the LSE's exponent error E, which
// includes log2(1 / (1 - H)). One factor covers both:
//   1 + relative_p = (1 + A_p) (1 + ex2_relative or rcp_relative) (1 + u) 2^E / (1 - H).
//
// Absolute errors, `a` being what one operation with a store may lose below the normal range: the weight's flush, its
// store, the same of the normalised weight or all of a vanished one: four times `a` abs(o_p). A rescale flushed or
// stored loses `a` times what the accumulator held, at most the sum of abs(o_p) (n for the sum of weights) times the
// growth. Products, additions and flushed operands: `a` each, three times K + n. The result's division and store: three
// more. All of it grows by no more than the largest factor above, squared.
ClassErrors streaming_errors(const ErrorModel& model, const RowExponents& row) {
  const auto unit = sfu::accuracy_of(sfu::UnitKind::spec);
  const Domain domain(model.base);
  const std::size_t n = row.live.size();
  const std::size_t rescales = num_rescales(model.combine, row);
  const std::size_t roundings = model.combine == CombineClass::flat ? n + 3 : 3 * rescales + 3;
  const double k = static_cast<double>(rescales);
  const double steps = times(3.0, plus(k, static_cast<double>(n)));
  const double stored = absolute_with_store(model.intermediate);
  const double shared =
      compound(gamma_up(rescales, unit.ex2_relative), gamma_up(roundings, unit_with_store(model.intermediate)));
  const double conversions = times(k, domain.difference(row.largest_magnitude));

  ClassErrors errors;
  errors.relative.resize(n, 0.0);
  std::vector<bool> absent(n);
  double weighted = 0;
  double growth = plus(1.0, shared);
  for (std::size_t i = 0; i < n; ++i) {
    const double delta = plus(times(domain.relative, row.below_max[i]), conversions);
    absent[i] = vanished(row.below_max[i], delta);
    if (absent[i]) continue;
    errors.relative[i] = compound(pow2_minus_one_up(delta), shared);  // A_p
    growth = std::max(growth, plus(1.0, errors.relative[i]));
    weighted = plus(weighted, times(row.power[i], 1.0 + kPowerError, errors.relative[i]));
  }
  if (!(growth <= kMaxGrowth)) return {};
  // Relative to the sum of powers, which is at least 1 (the maximum's): an absolute error of the sum is at most that
  // relative error.
  const double relative_error = div_up(weighted, mul_down(row.sum, sub_down(1.0, row.sum_error)));
  const double flushes = times(stored, plus(steps, times(2.0, k, static_cast<double>(n))));
  const double h = plus(relative_error, times(times(growth, growth), flushes));
  const bool sum_may_overflow = times(growth, static_cast<double>(n)) >= overflow_threshold(model.intermediate);
  if (!(h < 0.5) || sum_may_overflow) return {};

  const double sum_log2_error = log2_of_relative(h);
  const GlobalLse lse = global_lse(domain, row, sum_log2_error);
  const double normalise = compound(compound(std::max(unit.ex2_relative, unit.rcp_relative), kU),
                                    compound(pow2_minus_one_up(lse.exponent_error), div_up(h, sub_down(1.0, h))));
  for (std::size_t i = 0; i < n; ++i) {
    if (!absent[i]) errors.relative[i] = compound(errors.relative[i], normalise);
  }
  const double factor = times(growth, growth, plus(1.0, normalise));
  if (!(factor <= kMaxGrowth)) return {};
  errors.weight_absolute = times(factor, stored, plus(4.0, k));
  errors.per_sum = errors.weight_absolute;
  errors.constant = times(factor, stored, plus(steps, 3.0));
  errors.partial_growth = times(growth, plus(1.0, normalise));
  errors.lse = plus(sum_log2_error, lse.error);
  errors.bounded = true;
  return errors;
}

// One merge of two nodes whose computed LSEs are at most z in magnitude (units of the base).
struct Merge {
  double conversions;  // absolute error of a difference of two LSEs, log2 units
  double lse;          // error of the merged LSE against that of the two computed inputs, log2 units
};

// s = 1 + 2^-delta, delta >= 0 the difference. Both terms carry ex2 and conversion errors; a relative error r of the
// difference costs at most 2^-delta (2^(r delta) - 1) <= r / (e (1 - r)) < r of s >= 1. One addition; the flush of the
// smaller term. Then lg2 of s in [1, 2] (natural: times ln2), max + log rounded, the stored LSE rounded, conversions of
// the maximum and of the result.
Merge merge_at(const ErrorModel& model, const Domain& domain, double z) {
  const auto unit = sfu::accuracy_of(sfu::UnitKind::spec);
  const double conversions = domain.difference(z);
  const double sigma = plus(
      compound(compound(unit.ex2_relative, kU), compound(pow2_minus_one_up(conversions), domain.relative)), 2 * kFlush);
  if (!(sigma < 0.5)) return {conversions, std::numeric_limits<double>::infinity()};
  const double log_error = plus(times(std::max(unit.lg2_absolute, unit.lg2_relative), plus(1.0, 2 * sigma)),
                                domain.natural ? times(gamma_up(2, kU), 2.0) : 0.0);
  const double narrow = model.intermediate == DType::f32 ? 0.0 : gamma_up(1, unit_roundoff(model.intermediate));
  const double roundings = times(domain.kappa, z, plus(gamma_up(1, kU), narrow));
  const double tiny = times(4.0, absolute_with_store(model.intermediate));
  return {conversions,
          plus(plus(log2_of_relative(sigma), log_error, roundings), times(2.0, domain.conversion(z)), tiny)};
}

// A leaf passes at most K = P merges (any tree over P leaves; a fold may start from an empty state).
//
// LSE: log-sum-exp moves by no more than the larger error of its inputs, so a node of height k is off by at most k
// times a merge's error: K lse in all. That error grows with the magnitude of the computed LSEs, which in turn includes
// it: `slack` is a total for which one merge at the magnitude it allows costs at most slack / K. Induction over the
// height then closes.
//
// Weight of leaf p: the product over its path of the merges' weights. Were they 2^(computed child LSE - exact LSE of
// the two computed children), the product would telescope to w_p 2^theta with abs(theta) <= the root's inputs' error +
// the merges' errors along the path <= 2 K lse. A merge computes its weight as a/s or 1/(1 + exp(..)) or exp(child -
// merged LSE), before or after the merged one is stored: one ex2, at most four f32 roundings (division 3 u and its
// product among them), and an error of log2 s or of the merged LSE: another lse a merge. Relative rounding of the
// differences: they add up to at most max - x_p + log2 n + K (1 + 3 lse), as each merge raises the LSE by the
// difference. O: product, addition, store: two roundings with a store are more.
//
// Absolute: in a merge each weight may be flushed (times abs(O) <= growth o), products, addition, store and operands:
// five times `a`. A tree's node passes its error on with weights that sum to at most the growth, so K merges add K
// times that. Vanished weights as in streaming_errors.
ClassErrors pairwise_errors(const ErrorModel& model, const RowExponents& row) {
  const auto unit = sfu::accuracy_of(sfu::UnitKind::spec);
  const Domain domain(model.base);
  const std::size_t n = row.live.size();
  const std::size_t merges = row.num_partitions;
  const double k = static_cast<double>(merges);
  const double log2_n = plus(log2_double(static_cast<double>(n)), 0x1p-40);
  const double stored = absolute_with_store(model.intermediate);

  // Any slack that closes the induction is right; the smallest power of two is the sharpest tried.
  Merge merge{};
  double z = 0;
  bool closed = false;
  for (double slack = 0x1p-20; slack <= 64 && !closed; slack *= 2) {
    z = plus(row.largest_magnitude, log2_n, slack);  // kappa >= 1
    merge = merge_at(model, domain, z);
    closed = times(k, merge.lse) <= slack;
  }
  if (!closed || z >= max_finite(model.intermediate)) return {};

  ClassErrors errors;
  errors.lse = times(k, merge.lse);
  const double shared =
      compound(gamma_up(merges, unit.ex2_relative),
               compound(gamma_up(4 * merges, kU), gamma_up(2 * merges, unit_with_store(model.intermediate))));
  const double along_path = plus(times(3.0, errors.lse), times(k, merge.conversions));
  const double path_differences = plus(plus(log2_n, k), times(3.0, errors.lse));
  errors.relative.resize(n, 0.0);
  double growth = plus(1.0, shared);
  for (std::size_t i = 0; i < n; ++i) {
    const double delta = plus(along_path, times(domain.relative, plus(row.below_max[i], path_differences)));
    if (vanished(row.below_max[i], delta)) continue;
    errors.relative[i] = compound(pow2_minus_one_up(delta), shared);
    growth = std::max(growth, plus(1.0, errors.relative[i]));
  }
  const double factor = times(growth, growth);
  if (!(factor <= kMaxGrowth)) return {};
  errors.per_sum = times(4.0, kFlush, growth);
  errors.per_largest = times(factor, kFlush, times(2.0, k));
  errors.constant = times(factor, stored, times(5.0, k));
  errors.weight_absolute = plus(errors.per_sum, errors.per_largest);
  errors.partial_growth = growth;
  errors.bounded = true;
  return errors;
}

}  // namespace

std::string_view name_of(CombineClass combine) {
  switch (combine) {
    case CombineClass::flat:
      return "flat";
    case CombineClass::online:
      return "online";
    case CombineClass::pairwise:
      break;
  }
  return "pairwise";
}

ClassErrors class_errors(const ErrorModel& model, const RowExponents& row) {
  return model.combine == CombineClass::pairwise ? pairwise_errors(model, row) : streaming_errors(model, row);
}

std::optional<CombineClass> parse_combine_class(std::string_view name) {
  for (const auto combine : {CombineClass::flat, CombineClass::online, CombineClass::pairwise}) {
    if (name_of(combine) == name) return combine;
  }
  return std::nullopt;
}

RowExponents row_exponents(ExponentBase base, std::span<const double> x) {
  RowExponents row;
  row.num_partitions = x.size();
  row.max = -std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (std::isinf(x[p])) continue;
    row.live.push_back(p);
    row.max = std::max(row.max, x[p]);
    row.largest_magnitude = std::max(row.largest_magnitude, std::fabs(x[p]));
  }
  const bool natural = base == ExponentBase::natural;
  for (const std::size_t p : row.live) {
    const double below = natural ? mul_up(kLog2EUp, sub_up(row.max, x[p])) : sub_up(row.max, x[p]);
    row.below_max.push_back(below);
    // Rounded outward three times (difference, constant, product): for abs(t) <= 1022 the exponent is off by at most
    // 3 * 2^-52 * 1022 < 2^-40.4, so the power by ln2 2^-40.4 + kExp2RelativeError < kPowerError. Further down it is
    // below 2^-1020 on both sides.
    row.power.push_back(exp2_double(-below));
    row.sum += row.power.back();
  }
  row.sum_error = plus(kPowerError * 2, gamma_up(row.live.size(), 0x1p-53));
  return row;
}

}  // namespace lsecheck
