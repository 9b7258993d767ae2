#include "kernels/sm100/fa4_ws_row_contract.h"

#include <algorithm>
#include <cmath>

#include "kernels/ptx_float.h"
#include "kernels/sm100/fa4_ws_bound.h"
#include "reference/bound_arithmetic.h"

namespace lsecheck::sm100 {

namespace {

constexpr std::uint8_t kAnyInf = kPositiveInf | kNegativeInf;

// What the reciprocal may be, as a bit set.
enum Reciprocal : std::uint8_t { kNormal = 1, kZero = 2, kInfinite = 4, kNotANumber = 8 };

bool special(float m) {
  return std::isnan(m) || m == INFINITY;
}
bool no_key(float m) {
  return m == -INFINITY;
}
bool all_empty(std::span<const float> m) {
  return std::all_of(m.begin(), m.end(), no_key);
}

// e = -inf - -inf or inf - inf or NaN in some warpgroup, which reaches l and every sum of the row.
bool exponents_make_nan(Fa4WsLevel level, std::span<const float> m) {
  if (std::any_of(m.begin(), m.end(), special)) return true;
  if (level != Fa4WsLevel::two_level) return all_empty(m);
  return all_empty(m.first(m.size() / 2)) || all_empty(m.subspan(m.size() / 2));
}

// The classes of l, as ElementDue bits, by what is not finite among the masses; kFinite alone where everything is.
std::uint8_t mass_classes(const Fa4WsErrors& errors, std::span<const float> mass) {
  std::uint8_t classes = 0;
  for (std::size_t p = 0; p < mass.size(); ++p) {
    if (std::isfinite(mass[p])) continue;
    const WeightFate fate = errors.paths[p].fate;
    const bool vanishes = fate == WeightFate::empty || fate == WeightFate::zero;  // 0 * Inf
    if (std::isnan(mass[p]) || vanishes) return kNaN;
    classes |= fate == WeightFate::either ? kPositiveInf | kNaN : kPositiveInf;
  }
  return classes == 0 ? std::uint8_t{kFinite} : classes;
}

// What each element's sum of values may be by what is not finite among them, as ElementDue bits; kFinite alone where
// everything is. Finite values go to row.a.
std::vector<std::uint8_t> value_classes(const Fa4WsErrors& errors, std::span<const std::uint32_t> o, std::size_t depth,
                                        RowExpectation& row, std::size_t stride) {
  std::vector<std::uint8_t> certain(depth, 0), possible(depth, 0);
  for (std::size_t p = 0; p < errors.paths.size(); ++p) {
    const WeightFate fate = errors.paths[p].fate;
    for (std::size_t d = 0; d < depth; ++d) {
      const double value = decode(DType::f32, o[p * depth + d]);
      if (std::isfinite(value)) {
        row.a[p * stride + d] = value;
      } else if (std::isnan(value) || fate == WeightFate::empty || fate == WeightFate::zero) {
        certain[d] |= kNaN;
      } else {
        certain[d] |= value > 0 ? kPositiveInf : kNegativeInf;
        if (fate == WeightFate::either) possible[d] |= kNaN;
      }
    }
  }
  for (std::size_t d = 0; d < depth; ++d) {
    const bool nan = (certain[d] & kNaN) != 0 || (certain[d] & kAnyInf) == kAnyInf;
    if (certain[d] == 0) {
      certain[d] = kFinite;
    } else {
      certain[d] = nan ? std::uint8_t{kNaN} : static_cast<std::uint8_t>(certain[d] | possible[d]);
    }
  }
  return certain;
}

// What may come besides where partial sums overflow: an Inf of either sign from a sum of finite values; NaN from one
// that holds an Inf. Where a finite value alone is due that is left to the grade, but for either_sign: that an Inf of
// one sign is due and an early overflow of the other may be there instead, which the grade would not let pass.
std::uint8_t with_overflow(std::uint8_t due, bool finite_values, bool either_sign) {
  if (due == kFinite && !either_sign) return kFinite | kNaNByOverflow;
  return static_cast<std::uint8_t>(due | kNaN | (finite_values ? kAnyInf : 0));
}

std::uint8_t reciprocal_of(std::uint8_t mass_class, const Fa4WsMass& mass) {
  std::uint8_t result = 0;
  if ((mass_class & kNaN) != 0) result |= kNotANumber;
  if ((mass_class & kPositiveInf) != 0) result |= kZero;
  if ((mass_class & kFinite) == 0) return result;
  if (mass.computed_low < 0x1p-126) result |= kInfinite;
  if (mass.computed_up >= 0x1p126 || mass.may_overflow) result |= kZero;
  // One representable value above 2^126 the unit may still give 2^-126.
  if (mass.computed_up >= 0x1p-126 && mass.computed_low <= 0x1.000004p126) result |= kNormal;
  return result;
}

// acc * inv, acc of the classes `sum`; a finite acc lies in [low, high].
std::uint8_t product_classes(std::uint8_t sum, std::uint8_t reciprocal, double low, double high) {
  std::uint8_t due = 0;
  if ((sum & kNaN) != 0 || (reciprocal & kNotANumber) != 0) due |= kNaN;
  if ((sum & kAnyInf) != 0) {
    if ((reciprocal & (kNormal | kInfinite)) != 0) due |= sum & kAnyInf;
    if ((reciprocal & kZero) != 0) due |= kNaN;
  }
  if ((sum & kFinite) != 0) {
    if ((reciprocal & (kNormal | kZero)) != 0) due |= kFinite;
    if ((reciprocal & kInfinite) != 0) {
      if (high > 0) due |= kPositiveInf;
      if (low < 0) due |= kNegativeInf;
      if (low <= 0 && high >= 0) due |= kNaN;
    }
  }
  return due;
}

double exponent_of(float m, const CombineShape& shape) {
  const auto exact = static_cast<double>(m);
  if (shape.exponent != ExponentForm::scaled) return exact;
  return exact * static_cast<double>(shape.exponent_scale);  // 48 bits
}

RowExpectation all_nan() {
  RowExpectation row;
  row.row_class = RowClass::all_nan;
  return row;
}

// The largest m that is a number, as max.ftz forms it; NaN where none is.
float largest(std::span<const float> m) {
  float result = m[0];
  for (const float value : m) result = max_ftz(result, value);
  return result;
}

// Columns: sums, l, m. The problem gets one partial more, of mass 1 at the exponent that is returned: L = 2^M, the
// others have no mass, and m belongs to it alone.
RowExpectation unnormalised(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit) {
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const std::size_t partitions = row.lse.size();
  const std::size_t columns = depth + 2;
  const float m = largest(row.lse);
  if (std::isnan(m)) return all_nan();  // every m is NaN
  RowExpectation result;
  result.x.assign(partitions + 1, -INFINITY);
  result.x.back() = 0;
  result.l.assign(partitions + 1, 0.0);
  result.l.back() = 1;
  result.a.assign((partitions + 1) * columns, 0.0);
  result.due.assign(columns, kNaN);
  result.due.back() = std::isfinite(m) ? kFinite : m > 0 ? kPositiveInf : kNegativeInf;
  if (std::isfinite(m)) result.a.back() = static_cast<double>(m);
  if (exponents_make_nan(Fa4WsLevel::level1, row.lse)) return result;

  result.x.back() = exponent_of(m, shape);
  const Fa4WsErrors errors = fa4_ws_errors(Fa4WsLevel::level1, shape, row.lse, unit);
  const std::vector<std::uint8_t> classes = value_classes(errors, row.o, depth, result, columns);
  for (std::size_t p = 0; p < partitions; ++p) {
    if (!no_key(row.lse[p])) result.x[p] = exponent_of(row.lse[p], shape);
    if (std::isfinite(row.mass[p])) result.a[p * columns + depth] = static_cast<double>(row.mass[p]);
  }
  const Fa4WsSums sums = fa4_ws_sums(errors, result.a, columns, depth);
  for (std::size_t d = 0; d < depth; ++d) {
    // Two terms or more make the early overflow and two or fewer come after it, none beyond the largest f32 but by the
    // errors of the weights: the exact sum is not further out on the other side than that.
    const double exact = std::abs(sums.near[d]) / max_finite(DType::f32);
    const bool either_sign = exact > 1 - 0x1p-10 && exact < 1 + 0x1p-10;
    result.due[d] = sums.may_overflow[d] ? with_overflow(classes[d], classes[d] == kFinite, either_sign) : classes[d];
  }
  result.due[depth] = mass_classes(errors, row.mass);
  return result;
}

}  // namespace

RowExpectation fa4_ws_expectation(Fa4WsLevel level, const CombineShape& shape, const RowInput& row,
                                  const sfu::UnitAccuracy& unit) {
  if (level == Fa4WsLevel::level1) return unnormalised(shape, row, unit);
  const std::size_t partitions = row.lse.size();
  const std::vector<float> alone = {0.0F};
  const std::span<const float> m = partitions == 1 ? std::span<const float>(alone) : row.lse;
  if (exponents_make_nan(level, m)) return all_nan();
  const Fa4WsErrors errors = fa4_ws_errors(level, shape, m, unit);
  const std::uint8_t mass_class = mass_classes(errors, row.mass);
  if (mass_class == kNaN) return all_nan();

  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  RowExpectation result;
  result.x.assign(partitions, -INFINITY);
  result.l.assign(partitions, 0.0);
  result.a.assign(partitions * depth, 0.0);
  for (std::size_t p = 0; p < partitions; ++p) {
    if (no_key(m[p])) continue;
    result.x[p] = exponent_of(m[p], shape);
    if (std::isfinite(row.mass[p])) result.l[p] = static_cast<double>(row.mass[p]);
  }
  result.due = value_classes(errors, row.o, depth, result, depth);
  const Fa4WsSums sums = fa4_ws_sums(errors, result.a, depth, depth);
  const Fa4WsMass mass = fa4_ws_mass_range(errors, result.l);
  const std::uint8_t reciprocal = reciprocal_of(mass_class, mass);
  // At level 2 an Inf that level 1 overflowed to may meet a weight of 0.
  const bool mass_overflow = level == Fa4WsLevel::two_level && mass.half_may_overflow;
  for (std::size_t d = 0; d < depth; ++d) {
    const double reach = add_up(sums.margin[d], sums.error[d]);
    const bool finite_values = result.due[d] == kFinite;
    const bool may_overflow = sums.may_overflow[d] || mass_overflow;
    const std::uint8_t due =
        product_classes(result.due[d], reciprocal, sub_down(sums.near[d], reach), add_up(sums.near[d], reach));
    // Divided by a small L, either sign of the sum may be out of range.
    const bool either_sign = (std::abs(sums.near[d]) + sums.margin[d]) / mass.low >= max_finite(shape.out);
    result.due[d] = may_overflow ? with_overflow(due, finite_values, either_sign) : due;
  }
  if ((reciprocal & kNormal) == 0) {
    // Finite is 0 or not due at all: no mass is needed, and L may be 0.
    std::fill(result.l.begin(), result.l.end(), 1.0);
    std::fill(result.a.begin(), result.a.end(), 0.0);
  }
  return result;
}

}  // namespace lsecheck::sm100
