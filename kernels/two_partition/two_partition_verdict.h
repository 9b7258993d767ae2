#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/sfu/sfu.h"
#include "kernels/sm100/fa4_bound_steps.h"
#include "kernels/sm100/fa4_weight_steps.h"
#include "kernels/sm100/mla_split_parallel_steps.h"
#include "reference/device_callable.h"
#include "reference/two_partitions.h"

// The first-tier verdict on the output of a combine at P = 2, lse_0 = 0, f32 partials and output, on the host or on a
// device. Columns 0 to 3 hold the pairs of value_pair(). The bounds are those of the host to the bit.
namespace lsecheck::two_partition {

enum class Kernel : std::uint8_t { fa4, split_parallel };

// Of a row whose second LSE is z, an f32 below +inf.
template <Kernel kernel>
struct RowErrors;

template <>
struct RowErrors<Kernel::fa4> {
  sm100::Fa4PartitionWeight weight[2];
  double factor[2];
  std::uint64_t folded;

  LSECHECK_ANYWHERE RowErrors(double z, const sfu::UnitAccuracy& unit) : factor{0, 0}, folded(0) {
    const double x[2] = {0, z};
    const int count = z == -std::numeric_limits<double>::infinity() ? 1 : 2;
    const double m = z > 0 ? z : 0;
    sm100::ScaledSum sum;
    for (int p = 0; p < count; ++p) sum.add(sm100::scaled_term(x[p], m, unit));
    sum.finish(2);
    const sm100::GlobalLse g = sm100::global_lse(m, sum, unit);
    for (int p = 0; p < count; ++p) {
      weight[p] = sm100::partition_weight(x[p], m, g, unit, false);
      folded += sm100::is_folded(weight[p]);
    }
    std::uint64_t folded_from_here = folded;
    for (int p = 0; p < count; ++p) {
      factor[p] = sm100::error_factor(weight[p], folded_from_here);
      if (sm100::is_folded(weight[p])) --folded_from_here;
    }
  }

  LSECHECK_ANYWHERE double bound(ValuePair values) const {
    sm100::Fa4ColumnSums sums;
    sums.add(factor[0], weight[0], static_cast<double>(values.first));
    if (weight[1].fate != sm100::WeightFate::empty) sums.add(factor[1], weight[1], static_cast<double>(values.second));
    return sm100::column_bound(sums, folded, DType::f32).bound;
  }
};

// Each split is the only one of its warp: it enters exactly, and what happens to it happens when the two warps merge.
template <>
struct RowErrors<Kernel::split_parallel> {
  double factor[2];
  double absolute;

  LSECHECK_ANYWHERE RowErrors(double z, const sfu::UnitAccuracy& unit) : factor{0, 0}, absolute(0) {
    const double x[2] = {0, z};
    const int count = z == -std::numeric_limits<double>::infinity() ? 1 : 2;
    const double m = z > 0 ? z : 0;
    sm100::SplitPath path[2];
    sm100::SplitTerm term[2];
    sm100::SplitMass mass;
    for (int p = 0; p < count; ++p) {
      path[p].fate = sm100::WeightFate::nonzero;
      path[p].scale(x[p], m);
      const bool rounded_product = p == 1 && x[p] != m;
      path[p].value_roundings = path[p].mass_roundings = (count == 2 ? 1U : 0U) + (rounded_product ? 1U : 0U);
      term[p] = sm100::split_term(x[p] - m);
      mass.add(term[p], sm100::path_error(path[p], path[p].mass_roundings, unit));
    }
    mass.low = std::max(mass.low, 1.0);
    double quotient = 0;
    if (count == 2) {
      quotient = sm100::quotient_error(sm100::mass_error(mass.error, mass.low, mass.operations()));
      absolute = sm100::underflow_part(mass.operations(), mass.low);
    }
    for (int p = 0; p < count; ++p) {
      const double psi = compound(sm100::path_error(path[p], path[p].value_roundings, unit), quotient);
      factor[p] = mul_up(div_up(term[p].up, mass.low), psi);
    }
  }

  LSECHECK_ANYWHERE double bound(ValuePair values) const {
    double error = factor[0] * std::fabs(static_cast<double>(values.first));
    error += factor[1] * std::fabs(static_cast<double>(values.second));
    return add_up(mul_up(error, sm100::kColumnSumSlack), absolute);
  }
};

// What is known of one output element.
struct Verdict {
  bool decided = false;  // otherwise others have to look at it
  ElementGrade grade;
};

// z: of the second LSE, neither NaN nor +inf.
template <Kernel kernel>
LSECHECK_ANYWHERE Verdict verdict_on(double z, int column, std::uint32_t bits, const sfu::UnitAccuracy& unit) {
  Verdict verdict;
  if ((bits & 0x7f800000U) == 0x7f800000U) return verdict;
  const RowErrors<kernel> errors(z, unit);
  const TwoPartitionColumn exact = two_partition_column(two_weights(z), column);
  verdict.decided =
      certify_element<DType::f32>(exact.x, exact.scale, bits, errors.bound(value_pair(column)), verdict.grade);
  return verdict;
}

}  // namespace lsecheck::two_partition
