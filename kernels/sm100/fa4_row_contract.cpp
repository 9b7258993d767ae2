#include "kernels/sm100/fa4_row_contract.h"

#include <cmath>

#include "kernels/sm100/fa4_splitk_combine_bound.h"
#include "kernels/sm100/fa4_weight_error.h"

namespace lsecheck::sm100 {

namespace {

constexpr int kPMaxSlots = 5;  // ceil(160 / 32), the runtime-P kernel's slots

// Non-finite values under a partition, by what its weight makes of them.
struct NonFinite {
  std::uint8_t certain = 0;   // of ElementDue, from partitions whose weight is not zero
  std::uint8_t possible = 0;  // from partitions whose weight may or may not be flushed
};

// may_overflow: the finite values alone can reach an Inf of f32, of either sign, before or after the ones seen here. It
// takes the place of a finite result, and meeting an Inf of the other sign makes NaN; an Inf that is certain stays
// unless it is that.
std::uint8_t due_of(const NonFinite& seen, bool may_overflow) {
  constexpr std::uint8_t kAnyInf = kPositiveInf | kNegativeInf;
  const bool certain_nan = (seen.certain & kNaN) != 0 || (seen.certain & kAnyInf) == kAnyInf;
  if (certain_nan) return kNaN;
  const std::uint8_t all = seen.certain | seen.possible;
  std::uint8_t due = seen.certain == 0 ? static_cast<std::uint8_t>(kFinite | seen.possible) : seen.certain;
  if ((all & kNaN) != 0 || (all & kAnyInf) == kAnyInf || may_overflow) due |= kNaN;
  if (seen.certain == 0 && may_overflow) due |= kAnyInf;
  return due;
}

std::uint8_t class_of(double value) {
  if (std::isnan(value)) return kNaN;
  return value > 0 ? kPositiveInf : kNegativeInf;
}

}  // namespace

RowClass fa4_row_class(std::span<const float> lse, Arch arch, int p_static) {
  const std::size_t slots = p_static > 0 ? (static_cast<std::size_t>(p_static) + 31) / 32 : kPMaxSlots;
  bool any_number = false;        // some slot of some lane holds a number, -inf included
  bool any_number_above = false;  // some lane's maximum is a number above -inf
  bool any_nan_lane = false;      // some lane holds nothing but NaN
  bool any_nan = false;
  bool any_plus_inf = false;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    bool lane_is_nan = true;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const std::size_t p = 32 * slot + lane;
      const float value = p < lse.size() ? lse[p] : -INFINITY;
      if (std::isnan(value)) {
        any_nan = true;
        continue;
      }
      lane_is_nan = false;
      any_number = true;
      any_number_above = any_number_above || value > -INFINITY;
      any_plus_inf = any_plus_inf || value == INFINITY;
    }
    any_nan_lane = any_nan_lane || lane_is_nan;
  }
  // redux.max.NaN: a lane of nothing but NaN makes the maximum NaN, which is not -inf, and so every weight NaN.
  if (arch == Arch::sm_100a && any_nan_lane) return RowClass::all_nan;
  // max.f32 of two NaN is NaN: with no number at all the maximum is NaN on every chip.
  if (!any_number) return RowClass::all_nan;
  // max.f32 drops NaN beside a number: a row whose only number is -inf looks empty.
  if (!any_number_above) return RowClass::zeros;
  // ex2(NaN - m) or inf - inf reaches the sum.
  return any_nan || any_plus_inf ? RowClass::all_nan : RowClass::finite;
}

RowExpectation fa4_expectation(const CombineShape& shape, int p_static, const RowInput& row,
                               const sfu::UnitAccuracy& unit) {
  RowExpectation expectation;
  expectation.row_class = fa4_row_class(row.lse, shape.arch, p_static);
  return expectation.row_class == RowClass::finite ? select_fold_expectation(shape, row, unit) : expectation;
}

RowExpectation select_fold_expectation(const CombineShape& shape, const RowInput& row, const sfu::UnitAccuracy& unit) {
  RowExpectation expectation;
  expectation.sink = row.sink;
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  expectation.x.assign(row.lse.begin(), row.lse.end());
  expectation.a.assign(row.lse.size() * depth, 0.0);
  expectation.due.assign(depth, kFinite);
  std::vector<NonFinite> seen;
  std::vector<Fa4PartitionWeight> weights;
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    if (row.lse[p] == -INFINITY) continue;  // whatever lies under it is never looked at
    for (std::size_t d = 0; d < depth; ++d) {
      const double value = decode(shape.partial, row.o[p * depth + d]);
      if (std::isfinite(value)) {
        expectation.a[p * depth + d] = value;
        continue;
      }
      if (seen.empty()) {
        seen.resize(depth);
        weights = fa4_weight_errors(expectation.x, unit, expectation.sink);
      }
      if (weights[p].fate == WeightFate::nonzero) seen[d].certain |= class_of(value);
      if (weights[p].fate == WeightFate::either) seen[d].possible |= class_of(value);
    }
  }
  if (seen.empty()) return expectation;
  const std::vector<std::uint8_t> may_overflow = fa4_row_bound(expectation, shape.out, unit).inf_allowed;
  for (std::size_t d = 0; d < depth; ++d) {
    if ((seen[d].certain | seen[d].possible) != 0) expectation.due[d] = due_of(seen[d], may_overflow[d] != 0);
  }
  return expectation;
}

}  // namespace lsecheck::sm100
