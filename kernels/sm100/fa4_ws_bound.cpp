#include "kernels/sm100/fa4_ws_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/ptx_float.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"

// Derivation. u = 2^-24. A level folds children, each with a reference exponent m_i, a sum of values and a sum of
// masses: partitions at level 1 and in fa4_ws_intracta_combine, warpgroups at level 2. scale is 1 where m is in log2
// units.
//
// 1. M = max.ftz of the m_i: exact but for subnormals, which count as 0. M itself is what later steps refer to, so that
//    this is no error: T = 2^((m_i - M) scale) with the M that was formed.
// 2. e = fl(fl(m_i - M) scale): the subtraction errs by half an ulp or nothing, which the scale multiplies; the product
//    by half an ulp, or nothing where it is exact, or by all of itself where an operand or the result is flushed to 0.
//    A subnormal e counts as 0 in ex2. The sum of these, theta, is the error of the exponent.
// 3. s = ex2(e) = T 2^(+-theta) (1 + eps), exactly 1 where e is 0 or subnormal, since ex2(0) = 1. Below -126 it is
//    flushed for certain, at -126 perhaps, above not (2^-17 separates the floats there, and 2^(2^-17) is 44 ulps). A
//    partition with a factor of 0 on its way is missing altogether: relative error 1.
// 4. Values: the first child is multiplied, the others join by fma, so a child passes one rounding for itself and for
//    every later child that is not certainly 0; multiplying by exactly 1 rounds nothing, and fma(0, o, acc) = acc. The
//    errors of a chain of levels multiply: psi = 2^(sum theta) (1 + eps)^n (1 + gamma_k) - 1.
//    Flushes: a subnormal operand counts as 0, at most s 2^-126; a result below 2^-126 becomes 0, at most 2^-126: twice
//    2^-126 for every child. Later factors are at most 1 + eps and later roundings 1 + gamma: 1 + 2^-10 covers them.
// 5. Masses: plain products and fmas in one chain for two children, in two chains (0, 2) and (1, 3) and a last sum for
//    four. A result that is subnormal errs by 2^-150. At level 2 the first product is a mul.ftz, which may lose twice
//    2^-126 more, and only lose: all terms are >= 0. So l = L (1 +- lambda), lambda = (sum T_p l_p mu_p + absolute) /
//    L.
// 6. inv = rcp.ftz(l) = (1 + rho) / l; flushed to 0, perhaps, from l = 2^126 on: relative error at least 1. (Below
// 2^-126
//    l itself is flushed and inv is Inf: no finite value is due alone, see fa4_ws_row_contract.)
// 7. out = mul.ftz(acc, inv): one rounding, or 2^-126 where the result is flushed. With A = sum T_p a_p, E the error of
//    acc and 1 + eta = (1 + rho)(1 + u) / (1 - lambda), out = (A +- E) / L times at most 1 +- eta:
//    abs(out - A / L) <= (E / L) (1 + eta) + abs(A / L) eta + 2^-126.
//    Then the cast: half an ulp at the largest magnitude.
// 8. A partial sum is below the sum of all its terms' sizes in the first level they enter (later weights are at most
// 1),
//    times 1 + 2^-10. From the largest f32 on it may overflow.
// 9. Level 1 returns acc, l and m: the errors of steps 4 and 5, and none.
namespace lsecheck::sm100 {

namespace {

constexpr double kU = 0x1p-24;
constexpr double kSmallestNormal = 0x1p-126;
// Of T in double: exp2_double's 2^-52, and the exponent, at most 1000, known to 2^-52 of itself. Smaller terms are the
// interval [0, 2^-999].
constexpr double kTermError = 0x1p-41;
constexpr double kTinyTerm = 0x1p-999;
// Sums of up to 8 doubles of products.
constexpr double kSumSlack = 1 + 0x1p-40;
// What rounding errors of the chain can multiply an absolute error by.
constexpr double kChainSlack = 1 + 0x1p-10;
constexpr float kNoKey = -std::numeric_limits<float>::infinity();

// Steps 2 and 3: one weight of a level.
struct Factor {
  double exponent_error = 0;
  bool exactly_one = false;
  WeightFate fate = WeightFate::nonzero;
};

Factor factor_of(float m, float reference, const CombineShape& shape) {
  Factor factor;
  const float difference = m - reference;
  factor.exponent_error = f32_subtraction_error(static_cast<double>(m), static_cast<double>(reference));
  float e = difference;
  if (shape.exponent == ExponentForm::scaled) {
    const auto scale = static_cast<double>(shape.exponent_scale);
    const double product = static_cast<double>(difference) * scale;  // 48 bits
    e = mul_ftz(difference, shape.exponent_scale);
    factor.exponent_error = mul_up(factor.exponent_error, scale);
    if (std::isfinite(e) && static_cast<double>(e) != product) {
      const double size = std::abs(product);
      factor.exponent_error = add_up(factor.exponent_error, e == 0 ? size : cast_error_up(DType::f32, size));
    }
  }
  if (std::abs(static_cast<double>(e)) < kSmallestNormal) {
    factor.exactly_one = true;
    factor.exponent_error = add_up(factor.exponent_error, std::abs(static_cast<double>(e)));
  }
  if (e < -126.0F) factor.fate = WeightFate::zero;
  if (e == -126.0F) factor.fate = WeightFate::either;
  return factor;
}

// What happens to one partition on its way.
struct Way {
  WeightFate fate = WeightFate::empty;
  double exponent_error = 0;
  std::uint64_t factors = 0;  // that are not exactly 1
  std::uint64_t value_roundings = 0;
  std::uint64_t mass_roundings = 0;

  void scale(const Factor& factor) {
    exponent_error = add_up(exponent_error, factor.exponent_error);
    if (!factor.exactly_one) ++factors;
    if (fate == WeightFate::zero || factor.fate == WeightFate::nonzero) return;
    fate = factor.fate;
  }
  bool live() const { return fate == WeightFate::nonzero || fate == WeightFate::either; }
  double error(std::uint64_t roundings, const sfu::UnitAccuracy& unit) const {
    if (fate == WeightFate::zero) return 1;
    const double factors_error = compound(pow2_minus_one_up(exponent_error), gamma_up(factors, unit.ex2_relative));
    const double all = compound(factors_error, gamma_up(roundings, kU));
    return fate == WeightFate::either ? std::max(all, 1.0) : all;
  }
};

// What a level folds: a partition, or what an earlier level made of several.
struct Node {
  float m = kNoKey;
  std::vector<std::size_t> held;
  double value_absolute = 0;
  double mass_absolute = 0;
  double mass_flushed = 0;
};

class Fold {
 public:
  Fold(std::span<const Node> children, const CombineShape& shape, std::vector<Way>& ways)
      : children_(children), ways_(ways) {
    m_ = children.front().m;
    for (const Node& child : children) m_ = max_ftz(m_, child.m);
    for (const Node& child : children) {
      factors_.push_back(child.m == kNoKey ? Factor{} : factor_of(child.m, m_, shape));
      bool live = false;
      for (const std::size_t p : child.held) {
        if (ways_[p].fate != WeightFate::empty) ways_[p].scale(factors_.back());
        live = live || ways_[p].live();
      }
      live_.push_back(live);
    }
  }

  Node level1() {
    Node result = with_values();
    if (children_.size() == 4) {
      const bool both = count_live({0, 2}) > 0 && count_live({1, 3}) > 0;
      add_chain({0, 2}, &Way::mass_roundings, both ? 1 : 0);
      add_chain({1, 3}, &Way::mass_roundings, both ? 1 : 0);
    } else {
      add_chain({0, 1}, &Way::mass_roundings, 0);
    }
    result.mass_absolute += static_cast<double>(children_.size()) * 0x1p-150;
    return result;
  }

  Node level2() {
    Node result = with_values();
    add_chain({0, 1}, &Way::mass_roundings, 0);
    result.mass_absolute += 2 * 0x1p-150;
    result.mass_flushed = 2 * kSmallestNormal;
    return result;
  }

 private:
  using Chain = std::vector<std::size_t>;

  Node with_values() {
    Node result;
    result.m = m_;
    Chain all;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      all.push_back(i);
      result.held.insert(result.held.end(), children_[i].held.begin(), children_[i].held.end());
      if (!live_[i]) continue;
      result.value_absolute += children_[i].value_absolute + 2 * kSmallestNormal;
      result.mass_absolute += children_[i].mass_absolute;
    }
    add_chain(all, &Way::value_roundings, 0);
    return result;
  }

  std::uint64_t count_live(const Chain& chain) const {
    return static_cast<std::uint64_t>(
        std::count_if(chain.begin(), chain.end(), [&](std::size_t i) { return live_[i]; }));
  }

  // A product, then one fma per child: the roundings that each child passes, and `more` after the chain.
  void add_chain(const Chain& chain, std::uint64_t Way::*roundings, std::uint64_t more) {
    std::uint64_t remaining = count_live(chain);
    bool first = true;
    for (const std::size_t i : chain) {
      if (!live_[i]) continue;
      const std::uint64_t passed = remaining - (first && factors_[i].exactly_one ? 1 : 0) + more;
      for (const std::size_t p : children_[i].held) ways_[p].*roundings += passed;
      --remaining;
      first = false;
    }
  }

  std::span<const Node> children_;
  std::vector<Way>& ways_;
  float m_ = kNoKey;
  std::vector<Factor> factors_;
  std::vector<bool> live_;
};

std::vector<Node> leaves(std::span<const float> m, std::size_t first) {
  std::vector<Node> nodes;
  for (std::size_t p = 0; p < m.size(); ++p) nodes.push_back({m[p], {first + p}});
  return nodes;
}

// 2^((m - reference) scale) as near and margin.
struct Term {
  double near = 0, margin = 0;
};
Term term_of(float m, float reference, const CombineShape& shape) {
  const double difference = static_cast<double>(m) - static_cast<double>(reference);
  const double exponent =
      shape.exponent == ExponentForm::scaled ? difference * static_cast<double>(shape.exponent_scale) : difference;
  if (exponent < -1000) return {0, kTinyTerm};
  const double near = exp2_double(exponent);
  return {near, mul_up(near, kTermError)};
}

std::vector<float> exponents_of(const RowExpectation& row, const CombineShape& shape, std::size_t count) {
  std::vector<float> m;
  for (std::size_t p = 0; p < count; ++p) {
    // x = m * scale is exact in double, and so is the way back.
    const double exact =
        shape.exponent == ExponentForm::scaled ? row.x[p] / static_cast<double>(shape.exponent_scale) : row.x[p];
    m.push_back(static_cast<float>(exact));
  }
  return m;
}

RowBound unnormalised_bound(const Fa4WsErrors& errors, const RowExpectation& row) {
  const std::size_t columns = row.due.size();
  const std::size_t depth = columns - 2;
  const std::size_t partitions = errors.paths.size();
  const Fa4WsSums sums = fa4_ws_sums(errors, row.a, columns, depth);
  std::vector<double> l;
  for (std::size_t p = 0; p < partitions; ++p) l.push_back(row.a[p * columns + depth]);
  const Fa4WsMass mass = fa4_ws_mass_range(errors, l);
  RowBound result;
  result.bound = sums.error;
  result.inf_allowed = sums.may_overflow;
  result.bound.insert(result.bound.end(), {mass.error, 0.0});
  result.inf_allowed.insert(result.inf_allowed.end(), {static_cast<std::uint8_t>(mass.may_overflow), 0});
  result.bound_before_cast = result.bound;
  return result;
}

}  // namespace

double Fa4WsPath::weight_up() const {
  return add_up(weight_near, weight_margin);
}

Fa4WsErrors fa4_ws_errors(Fa4WsLevel level, const CombineShape& shape, std::span<const float> m,
                          const sfu::UnitAccuracy& unit) {
  Fa4WsErrors errors;
  errors.paths.resize(m.size());
  if (m.size() == 1) {
    // Nothing is weighted and nothing added: the multiplication by inv flushes a subnormal value.
    errors.m = m[0];
    errors.paths[0] = {WeightFate::nonzero, 1, 0, 1, 0, 0};
    errors.value_absolute = kSmallestNormal;
    return errors;
  }
  std::vector<Way> ways(m.size());
  for (std::size_t p = 0; p < m.size(); ++p) ways[p].fate = m[p] == kNoKey ? WeightFate::empty : WeightFate::nonzero;
  std::vector<Node> nodes = leaves(m, 0);
  std::vector<float> first_reference;
  if (level == Fa4WsLevel::two_level) {
    const std::size_t half = m.size() / 2;
    const std::vector<Node> of_first = leaves(m.first(half), 0);
    const std::vector<Node> of_second = leaves(m.subspan(half), half);
    nodes = {Fold(of_first, shape, ways).level1(), Fold(of_second, shape, ways).level1()};
    for (std::size_t p = 0; p < m.size(); ++p) first_reference.push_back(nodes[p / half].m);
  }
  const bool reduce = level == Fa4WsLevel::level2 || level == Fa4WsLevel::two_level;
  Fold last(nodes, shape, ways);
  const Node all = reduce ? last.level2() : last.level1();
  errors.m = all.m;
  errors.value_absolute = all.value_absolute * kChainSlack;
  errors.mass_absolute = all.mass_absolute * kChainSlack;
  errors.mass_flushed = all.mass_flushed * kChainSlack;
  for (std::size_t p = 0; p < m.size(); ++p) {
    const Way& way = ways[p];
    if (way.fate == WeightFate::empty) continue;
    const Term term = term_of(m[p], all.m, shape);
    const Term first = first_reference.empty() ? term : term_of(m[p], first_reference[p], shape);
    errors.paths[p] = {way.fate,
                       term.near,
                       term.margin,
                       add_up(first.near, first.margin),
                       way.error(way.value_roundings, unit),
                       way.error(way.mass_roundings, unit)};
  }
  return errors;
}

Fa4WsMass fa4_ws_mass_range(const Fa4WsErrors& errors, std::span<const double> l) {
  Fa4WsMass mass;
  double error = 0;
  std::array<double, 2> first{};
  bool any = false;
  for (std::size_t p = 0; p < l.size(); ++p) {
    const Fa4WsPath& path = errors.paths[p];
    if (path.fate == WeightFate::empty || l[p] == 0) continue;
    any = true;
    const double term_up = mul_up(path.weight_up(), l[p]);
    mass.up = add_up(mass.up, term_up);
    mass.low = add_down(mass.low, mul_down(sub_down(path.weight_near, path.weight_margin), l[p]));
    error = add_up(error, mul_up(term_up, path.mass_error));
    double& sum = first[2 * p < l.size() ? 0 : 1];
    sum = add_up(sum, mul_up(path.first_weight_up, l[p]));
  }
  mass.low = std::max(mass.low, 0.0);  // the interval of a tiny term reaches below 0
  if (any) {
    error = add_up(error, errors.mass_absolute);
    mass.error = add_up(error, errors.mass_flushed);
  }
  mass.computed_low = sub_down(mass.low, mass.error);
  mass.computed_up = add_up(mass.up, error);
  const auto overflows = [](double sum) { return mul_up(sum, kChainSlack) >= max_finite(DType::f32); };
  mass.may_overflow = overflows(add_up(first[0], first[1]));
  mass.half_may_overflow = overflows(first[0]) || overflows(first[1]);
  return mass;
}

Fa4WsSums fa4_ws_sums(const Fa4WsErrors& errors, std::span<const double> a, std::size_t stride, std::size_t depth) {
  Fa4WsSums sums;
  sums.near.assign(depth, 0);
  sums.margin.assign(depth, 0);
  sums.error.assign(depth, 0);
  sums.may_overflow.assign(depth, 0);
  std::vector<double> first(depth, 0.0);
  std::vector<std::uint8_t> any(depth, 0);
  for (std::size_t p = 0; p < errors.paths.size(); ++p) {
    const Fa4WsPath& path = errors.paths[p];
    if (path.fate == WeightFate::empty) continue;
    const double error_factor = mul_up(path.weight_up(), path.value_error);
    const double margin_factor = add_up(path.weight_margin, path.weight_near * 0x1p-48);  // and the rounding of near
    for (std::size_t d = 0; d < depth; ++d) {
      const double value = a[p * stride + d];
      const double size = std::abs(value);
      sums.near[d] += path.weight_near * value;
      sums.margin[d] += margin_factor * size;
      sums.error[d] += error_factor * size;
      first[d] += path.first_weight_up * size;
      any[d] |= size != 0;
    }
  }
  for (std::size_t d = 0; d < depth; ++d) {
    if (!any[d]) continue;
    sums.margin[d] = mul_up(sums.margin[d], kSumSlack);
    sums.error[d] = add_up(mul_up(sums.error[d], kSumSlack), errors.value_absolute);
    sums.may_overflow[d] = mul_up(first[d], kChainSlack) >= max_finite(DType::f32);
  }
  return sums;
}

RowBound fa4_ws_row_bound(Fa4WsLevel level, const CombineShape& shape, const RowExpectation& row,
                          const sfu::UnitAccuracy& unit) {
  const std::size_t partitions = row.x.size() - (level == Fa4WsLevel::level1 ? 1 : 0);
  const Fa4WsErrors errors = fa4_ws_errors(level, shape, exponents_of(row, shape, partitions), unit);
  if (level == Fa4WsLevel::level1) return unnormalised_bound(errors, row);

  const std::size_t depth = row.due.size();
  const Fa4WsSums sums = fa4_ws_sums(errors, row.a, depth, depth);
  const Fa4WsMass mass = fa4_ws_mass_range(errors, row.l);
  RowBound result;
  result.bound.assign(depth, 0);
  result.bound_before_cast.assign(depth, 0);
  result.inf_allowed = sums.may_overflow;
  if (mass.computed_low < kSmallestNormal) return result;  // inv may be Inf: no finite value is due alone
  double eta = sub_up(mul_up(mul_up(1 + kU, add_up(1, unit.rcp_relative)), div_up(mass.low, mass.computed_low)), 1);
  if (mass.computed_up >= 0x1p126 || mass.may_overflow) eta = std::max(eta, 1.0);
  for (std::size_t d = 0; d < depth; ++d) {
    const double a_up = add_up(std::abs(sums.near[d]), sums.margin[d]);
    if (a_up == 0 && sums.error[d] == 0) continue;
    const double x_up = div_up(a_up, mass.low);
    const double of_sum = mul_up(div_up(sums.error[d], mass.low), add_up(1, eta));
    const double e = add_up(add_up(of_sum, mul_up(x_up, eta)), kSmallestNormal);
    result.bound_before_cast[d] = e;
    result.bound[d] = shape.out == DType::f32 ? e : add_up(e, cast_error_up(shape.out, add_up(x_up, e)));
  }
  return result;
}

}  // namespace lsecheck::sm100
