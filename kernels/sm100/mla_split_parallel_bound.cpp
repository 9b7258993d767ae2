#include "kernels/sm100/mla_split_parallel_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/sm100/mla_split_parallel_steps.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"
#include "reference/sink_exponent.h"

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

// The splits [begin, end) that one accumulator holds, and its m.
struct Holder {
  double m = kNoLse;
  std::vector<std::size_t> held;
};

void fold(Holder& holder, std::span<const double> x, std::size_t p, std::vector<SplitPath>& paths) {
  if (x[p] == kNoLse) return;
  const double n = std::max(holder.m, x[p]);
  SplitPath& entering = paths[p];
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

void merge(Holder& mine, const Holder& partner, std::vector<SplitPath>& paths) {
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

std::vector<SplitPath> paths_of(std::span<const double> x) {
  std::vector<SplitPath> paths(x.size());
  std::array<Holder, kWarps> warps;
  const std::size_t splits_per_warp = (x.size() + kWarps - 1) / kWarps;
  for (std::size_t p = 0; p < x.size(); ++p) fold(warps[p / splits_per_warp], x, p, paths);
  for (std::size_t stride = kWarps / 2; stride > 0; stride /= 2) {
    for (std::size_t w = 0; w < stride; ++w) merge(warps[w], warps[w + stride], paths);
  }
  return paths;
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
  std::vector<SplitPath> paths;
  SinkMass sink;
};

RowErrors row_errors(std::span<const double> x, std::optional<double> sink, const sfu::UnitAccuracy& unit) {
  const double m = *std::max_element(x.begin(), x.end());
  RowErrors row;
  row.paths = paths_of(x);
  row.sink = sink_mass(sink, m, unit);
  row.term_up.assign(x.size(), 0);
  SplitMass mass;
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] == kNoLse) continue;
    const SplitTerm term = split_term(x[p] - m);
    row.term_up[p] = term.up;
    mass.add(term, path_error(row.paths[p], row.paths[p].mass_roundings + (row.sink.present ? 1 : 0), unit));
  }
  mass.low = std::max(mass.low, 1.0);
  row.exact = mass.count == 1 && !row.sink.present;
  row.operations = mass.operations();

  const bool use_sink = row.sink.present && !row.sink.unknown;
  // Beyond 2^129 the sink is all of L, and l is Inf: W_p = 2^(x_p - M - exponent), psi = 1.
  const bool dominated = use_sink && row.sink.exponent > 129 && row.sink.may_overflow;
  if (use_sink && !dominated) {
    mass.sum += exp2_double(row.sink.exponent);
    mass.low = add_down(mass.low, row.sink.low);
    mass.up = add_up(mass.up, row.sink.up);
    mass.error = add_up(mass.error, mul_up(row.sink.up, compound(row.sink.relative_error, gamma_up(1, kU))));
  }
  const double lambda = row.exact ? 0 : mass_error(mass.error, mass.low, row.operations);
  const double quotient = row.exact ? 0 : quotient_error(lambda);
  row.mass_low = mass.low;
  row.mass_up = mul_up(mass.up, add_up(1, lambda));
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
    row.weight_near[p] = exp2_double(x[p] - m) / mass.sum;
    row.weight_up[p] = div_up(row.term_up[p], mass.low);
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

  const double absolute = errors.exact ? 0 : underflow_part(errors.operations, errors.mass_low);
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
