#include "kernels/sm100/mla_split_parallel_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/sm100/fa4_weight_error.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"
#include "reference/sink_exponent.h"

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

namespace {

constexpr double kU = 0x1p-24;
constexpr std::size_t kWarps = 8;
// Of 2^(x_p - M) in double: exp2_double's 2^-52 and the rounding of the exponent, at most 2^-53 * 1000; smaller terms
// are the interval [0, 2^-999].
constexpr double kTermError = 0x1p-42;
constexpr double kNoLse = -std::numeric_limits<double>::infinity();
// Sums of P non-negative doubles.
constexpr double kSumSlack = 1 + 0x1p-40;
// What rounding errors of a whole chain can multiply an absolute error by.
constexpr double kChainSlack = 1 + 0x1p-10;

// What happens to one split on its way into the result.
struct Path {
  WeightFate fate = WeightFate::empty;
  double exponent_error = 0;  // sum of theta
  std::uint64_t factors = 0;  // that are not exactly 1
  std::uint64_t value_roundings = 0;
  std::uint64_t mass_roundings = 0;

  void scale(double from, double to) {
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

// The splits [begin, end) that one accumulator holds, and its m.
struct Holder {
  double m = kNoLse;
  std::vector<std::size_t> held;
};

void fold(Holder& holder, std::span<const double> x, std::size_t p, std::vector<Path>& paths) {
  if (x[p] == kNoLse) return;
  const double n = std::max(holder.m, x[p]);
  Path& entering = paths[p];
  entering.fate = WeightFate::nonzero;
  entering.scale(x[p], n);
  if (x[p] != n) ++entering.value_roundings;
  if (!holder.held.empty()) {
    ++entering.value_roundings;
    ++entering.mass_roundings;
  }
  for (const std::size_t q : holder.held) {
    paths[q].scale(holder.m, n);
    ++paths[q].value_roundings;
    ++paths[q].mass_roundings;
  }
  holder.held.push_back(p);
  holder.m = n;
}

void merge(Holder& mine, const Holder& partner, std::vector<Path>& paths) {
  const double n = std::max(mine.m, partner.m);
  const bool adds = !mine.held.empty() && !partner.held.empty();
  for (const std::size_t p : mine.held) paths[p].scale(mine.m, n);
  for (const std::size_t p : partner.held) {
    if (partner.m != n) {
      ++paths[p].value_roundings;
      ++paths[p].mass_roundings;
    }
    paths[p].scale(partner.m, n);
  }
  mine.held.insert(mine.held.end(), partner.held.begin(), partner.held.end());
  mine.m = n;
  if (!adds) return;
  for (const std::size_t p : mine.held) {
    ++paths[p].value_roundings;
    ++paths[p].mass_roundings;
  }
}

std::vector<Path> paths_of(std::span<const double> x) {
  std::vector<Path> paths(x.size());
  std::array<Holder, kWarps> warps;
  const std::size_t splits_per_warp = (x.size() + kWarps - 1) / kWarps;
  for (std::size_t p = 0; p < x.size(); ++p) fold(warps[p / splits_per_warp], x, p, paths);
  for (std::size_t stride = kWarps / 2; stride > 0; stride /= 2) {
    for (std::size_t w = 0; w < stride; ++w) merge(warps[w], warps[w + stride], paths);
  }
  return paths;
}

double path_error(const Path& path, std::uint64_t roundings, const sfu::UnitAccuracy& unit) {
  if (path.fate == WeightFate::zero) return 1;
  const double factors = compound(pow2_minus_one_up(path.exponent_error), gamma_up(path.factors, unit.ex2_relative));
  const double error = compound(factors, gamma_up(roundings, kU));
  return path.fate == WeightFate::either ? std::max(error, 1.0) : error;
}

// The sink's mass beside sum T_p.
struct SinkMass {
  bool present = false;       // with an f32 mass that is not 0 for certain
  double low = 0, up = 0;     // of T_s; up may be +inf where exponent is used instead
  double exponent = 0;        // c log2 e - M
  double relative_error = 0;  // of q
  bool may_overflow = false;
  bool unknown = false;  // step 5: no use of T_s
};

SinkMass sink_mass(std::optional<double> sink, double m, const sfu::UnitAccuracy& unit) {
  SinkMass mass;
  if (!sink || *sink == kNoLse) return mass;
  mass.present = true;
  mass.exponent = sink_exponent_above(*sink, m);
  const float a = static_cast<float>(*sink) * 0x1.715476p+0F;
  const auto d = static_cast<double>(a - static_cast<float>(m));
  mass.may_overflow = d >= 127;
  const bool both_negligible = d < -140 && mass.exponent < -140;
  const bool both_overflow = d > 129 && mass.exponent > 129;
  const double error = add_up(std::abs(d - mass.exponent), std::abs(mass.exponent) * 0x1p-50);
  mass.unknown = !both_negligible && !both_overflow && !(error <= 0.5);
  if (mass.unknown) return mass;
  const double term = exp2_double(mass.exponent);
  mass.low = mass.exponent < -1000 ? 0 : mul_down(term, 1 - kTermError);
  mass.up = add_up(mul_up(term, 1 + kTermError), mass.exponent < -1000 ? 0x1p-999 : 0);
  mass.relative_error = d < -125.5 ? 1 : compound(pow2_minus_one_up(std::min(error, 0.5)), unit.ex2_relative);
  return mass;
}

// Everything of a row that does not depend on its values.
struct RowErrors {
  std::vector<double> term_up;      // [P] >= T_p
  std::vector<double> weight_up;    // [P] >= W_p
  std::vector<double> weight_near;  // [P] W_p within kWeightNearError; weight_up where the sink is unknown
  std::vector<double> psi;          // [P]
  bool near_known = true;
  double mass_low = 1;  // <= L
  double mass_up = 1;   // >= l^
  bool exact = false;   // one split and no mass beside it
  std::uint64_t operations = 0;
  std::vector<Path> paths;
  SinkMass sink;
};

RowErrors row_errors(std::span<const double> x, std::optional<double> sink, const sfu::UnitAccuracy& unit) {
  const double m = *std::max_element(x.begin(), x.end());
  RowErrors row;
  row.paths = paths_of(x);
  row.sink = sink_mass(sink, m, unit);
  row.term_up.assign(x.size(), 0);
  double sum = 0, sum_low = 0, sum_up = 0, mass_error = 0;
  std::size_t count = 0;
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] == kNoLse) continue;
    ++count;
    const double exponent = x[p] - m;
    const double term = exp2_double(exponent);
    sum += term;
    row.term_up[p] = add_up(mul_up(term, 1 + kTermError), exponent < -1000 ? 0x1p-999 : 0);
    sum_up = add_up(sum_up, row.term_up[p]);
    sum_low = add_down(sum_low, exponent < -1000 ? 0 : mul_down(term, 1 - kTermError));
    const double error = path_error(row.paths[p], row.paths[p].mass_roundings + (row.sink.present ? 1 : 0), unit);
    mass_error = add_up(mass_error, mul_up(row.term_up[p], error));
  }
  sum_low = std::max(sum_low, 1.0);
  row.exact = count == 1 && !row.sink.present;
  row.operations = 2 * count + 2 * kWarps;

  const bool use_sink = row.sink.present && !row.sink.unknown;
  // Beyond 2^129 the sink is all of L, and l is Inf: W_p = 2^(x_p - M - exponent), psi = 1.
  const bool dominated = use_sink && row.sink.exponent > 129 && row.sink.may_overflow;
  if (use_sink && !dominated) {
    sum += exp2_double(row.sink.exponent);
    sum_low = add_down(sum_low, row.sink.low);
    sum_up = add_up(sum_up, row.sink.up);
    mass_error = add_up(mass_error, mul_up(row.sink.up, compound(row.sink.relative_error, gamma_up(1, kU))));
  }
  const double lambda =
      row.exact ? 0 : add_up(div_up(mass_error, sum_low), mul_up(static_cast<double>(row.operations), 0x1p-149));
  // Below 1/2: what may be missing altogether is below 2^-125 of L, a known sink is off by less than 2^(1/2).
  const double quotient = row.exact ? 0 : compound(gamma_up(2, kU), div_up(lambda, sub_down(1, lambda)));
  row.mass_low = sum_low;
  row.mass_up = mul_up(sum_up, add_up(1, lambda));
  row.near_known = !row.sink.unknown;
  row.weight_up.assign(x.size(), 0);
  row.weight_near.assign(x.size(), 0);
  row.psi.assign(x.size(), 0);
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] == kNoLse) continue;
    double psi = compound(path_error(row.paths[p], row.paths[p].value_roundings, unit), quotient);
    if (row.sink.present && row.sink.may_overflow) psi = std::max(psi, 1.0);
    if (row.sink.unknown) psi = add_up(psi, 1);
    row.psi[p] = psi;
    if (dominated) {
      row.weight_near[p] = exp2_double((x[p] - m) - row.sink.exponent);
      row.weight_up[p] = add_up(mul_up(row.weight_near[p], 1 + kWeightNearError), 0x1p-999);
      row.psi[p] = 1;
      continue;
    }
    row.weight_near[p] = exp2_double(x[p] - m) / sum;
    row.weight_up[p] = div_up(row.term_up[p], sum_low);
  }
  return row;
}

}  // namespace

RowBound split_parallel_row_bound(const RowExpectation& row, DType out, const sfu::UnitAccuracy& unit) {
  const std::size_t depth = row.due.size();
  const RowErrors errors = row_errors(row.x, row.sink, unit);
  std::vector<double> error(depth, 0.0);       // sum of W_p psi_p abs(o_p)
  std::vector<double> magnitude(depth, 0.0);   // sum of W_p abs(o_p)
  std::vector<double> undivided(depth, 0.0);   // sum of T_p abs(o_p)
  std::vector<double> all_values(depth, 0.0);  // sum of abs(o_p)
  std::vector<double> signed_sum(depth, 0.0);
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    if (errors.paths[p].fate == WeightFate::empty) continue;
    const double error_factor = mul_up(errors.weight_up[p], errors.psi[p]);
    const double* const a = row.a.data() + p * depth;
    for (std::size_t d = 0; d < depth; ++d) {
      const double size = std::abs(a[d]);
      error[d] += error_factor * size;
      magnitude[d] += errors.weight_up[p] * size;
      undivided[d] += errors.term_up[p] * size;
      all_values[d] += size;
      signed_sum[d] += errors.weight_near[p] * a[d];
    }
  }

  const double underflow =
      div_up(mul_up(mul_up(static_cast<double>(errors.operations), 0x1p-150), kChainSlack), errors.mass_low);
  const double absolute = errors.exact ? 0 : add_up(underflow, 0x1p-150);
  const bool subnormal_inverse = errors.mass_up > 0x1p125 || errors.sink.may_overflow || errors.sink.unknown;
  RowBound result;
  result.bound.resize(depth);
  result.bound_before_cast.resize(depth);
  result.inf_allowed.resize(depth);
  for (std::size_t d = 0; d < depth; ++d) {
    const double size_up = mul_up(magnitude[d], kSumSlack);
    double e = add_up(mul_up(error[d], kSumSlack), absolute);
    if (subnormal_inverse) e = add_up(e, mul_up(mul_up(undivided[d], kSumSlack), 0x1p-149));
    const double x_up =
        errors.near_known ? add_up(std::abs(signed_sum[d]), mul_up(size_up, 4 * kWeightNearError)) : size_up;
    result.bound_before_cast[d] = e;
    result.bound[d] = out == DType::f32 ? e : add_up(e, cast_error_up(out, add_up(x_up, e)));
    result.inf_allowed[d] = mul_up(mul_up(all_values[d], kSumSlack), kChainSlack) >= max_finite(DType::f32);
  }
  return result;
}

RowExpectation split_parallel_expectation(const CombineShape& shape, const RowInput& row,
                                          const sfu::UnitAccuracy& unit) {
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  RowExpectation expectation;
  expectation.sink = row.sink;
  expectation.x.assign(row.lse.begin(), row.lse.end());
  expectation.a.assign(row.lse.size() * depth, 0.0);
  expectation.due.assign(depth, kFinite);
  const RowErrors errors = row_errors(expectation.x, expectation.sink, unit);
  std::vector<std::uint8_t> seen(depth, 0);
  const bool inverse_may_vanish = errors.sink.present && errors.sink.may_overflow;
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    if (row.lse[p] == -INFINITY) continue;  // skipped before it is loaded
    for (std::size_t d = 0; d < depth; ++d) {
      const double value = decode(shape.partial, row.o[p * depth + d]);
      if (std::isfinite(value)) {
        expectation.a[p * depth + d] = value;
      } else if (std::isnan(value) || errors.paths[p].fate == WeightFate::zero) {
        seen[d] |= kFinite;  // stands for a NaN that is certain: Inf times 0, and nothing clears a NaN
      } else {
        seen[d] |= value > 0 ? kPositiveInf : kNegativeInf;
        if (errors.paths[p].fate == WeightFate::either || inverse_may_vanish) seen[d] |= kNaN;
      }
    }
  }
  const RowBound bound = split_parallel_row_bound(expectation, shape.out, unit);
  for (std::size_t d = 0; d < depth; ++d) {
    constexpr std::uint8_t kAnyInf = kPositiveInf | kNegativeInf;
    if (seen[d] == 0) {
      if (bound.inf_allowed[d]) expectation.due[d] = kFinite | kNaNByOverflow;
    } else if ((seen[d] & kFinite) != 0 || (seen[d] & kAnyInf) == kAnyInf) {
      expectation.due[d] = kNaN;
    } else {
      expectation.due[d] = static_cast<std::uint8_t>(seen[d] | (bound.inf_allowed[d] ? kNaN : 0));
    }
  }
  return expectation;
}

}  // namespace lsecheck::sm100
