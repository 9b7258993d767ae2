#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/law_tools.h"
#include "properties/tensor_edits.h"
#include "reference/bound_arithmetic.h"

// Combining in groups first, then the groups. The groups' outputs are stored in the partials' type, their LSEs rounded
// to f32.
//
// x = sum W_g v_g exactly, W_g the groups' true weights and v_g their true values. The outer combine sees v^_g with
// abs(v^_g - v_g) <= B_g and LSEs off by at most e, so its exact result is x' = sum W'_g v^_g with W_g <= 2^(2e) W'_g
// and the reverse. Then
//   abs(x' - x) <= sum W'_g abs(v^_g - v_g) + sum abs(W'_g - W_g) abs(v_g)
//               <= sum W'_g (B_g + (2^(2e) - 1) (abs(v^_g) + B_g)),
// because abs(W'_g - W_g) <= (2^(2e) - 1) W'_g. A sink is folded once, by the outer combine; its share of the mass is
// exact and only dampens the change of the W_g. That charge is added to the outer combine's own bound.
namespace lsecheck {

namespace {

struct Group {
  std::vector<std::int64_t> sources;
  CaseTensors tensors;
  std::vector<std::uint32_t> out_bits;      // [rows_heads * D] of the partials' type
  std::vector<std::vector<double>> bounds;  // [rows_heads][D]; empty: the row is empty in this group
};

// Contiguous groups that cover all partitions, two or three of them.
std::vector<Group> cut(const CaseTensors& tensors, PhiloxStream& random) {
  const std::int64_t num_partitions = tensors.spec.num_partitions;
  std::vector<std::int64_t> edges{0, random.between(1, num_partitions - 1), num_partitions};
  if (num_partitions > 2 && random.chance(1, 2)) edges.push_back(random.between(1, num_partitions - 1));
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<Group> groups;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    Group group;
    for (std::int64_t p = edges[i]; p < edges[i + 1]; ++p) group.sources.push_back(p);
    // A group takes no more partitions than the whole case, so that it can be launched.
    group.tensors = launchable(without_sink(remap_partitions(tensors, group.sources))).value();
    group.tensors.spec.out = tensors.spec.partial;
    group.tensors.spec.selection = Selection::production;
    groups.push_back(std::move(group));
  }
  return groups;
}

// The outer case, with each group's output as a partial. nullopt: a value is not finite, so the law says nothing.
std::optional<CaseTensors> outer_case(const CaseTensors& tensors, std::vector<Group>& groups, Reference& reference,
                                      double& lse_error) {
  CaseTensors outer;
  outer.spec = tensors.spec;
  outer.spec.num_partitions = static_cast<std::uint16_t>(groups.size());
  outer.spec.selection = Selection::production;
  outer.attention_sink = tensors.attention_sink;
  for (Group& group : groups) {
    const KernelVariant variant = variant_of(group.tensors.spec);
    group.bounds.resize(tensors.spec.rows_heads());
    for (std::size_t rh = 0; rh < tensors.spec.rows_heads(); ++rh) {
      const RowVerdictInput row = row_verdict_input(group.tensors, variant, rh);
      if (row.expectation.row_class == RowClass::zeros) {
        outer.lse_partial.push_back(-INFINITY);
        continue;
      }
      const auto& due = row.expectation.due;
      if (std::any_of(due.begin(), due.end(), [](std::uint8_t d) { return d != kFinite; })) return std::nullopt;
      const Reference::RoundedLse lse = reference.log_sum_exp2(row.expectation.problem());
      if (!std::isfinite(lse.lse)) return std::nullopt;
      lse_error = std::max(lse_error, lse.error_bound);
      outer.lse_partial.push_back(lse.lse);
      group.bounds[rh] = row.bound.bound;
    }
    for (const std::uint32_t bits : group.out_bits) {
      if (!is_finite(tensors.spec.partial, bits)) return std::nullopt;
    }
    outer.o_partial.insert(outer.o_partial.end(), group.out_bits.begin(), group.out_bits.end());
  }
  return launchable(outer);
}

// Bound of the outer result against the flat exact value on row rh.
std::vector<double> charged_bound(const RowVerdictInput& outer, const std::vector<Group>& groups, std::size_t rh,
                                  double lse_error) {
  const std::size_t depth = outer.expectation.due.size();
  const std::vector<double> weights =
      weights_up({.x = outer.expectation.x, .l = {}, .a = {}, .sink = {}});  // a sink would only lessen them
  const double weight_shift = pow2_minus_one_up(mul_up(2, lse_error));
  std::vector<double> bound = outer.bound.bound;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (weights[g] == 0) continue;
    for (std::size_t d = 0; d < depth; ++d) {
      const double inner = groups[g].bounds[rh][d];
      const double size = add_up(std::abs(outer.expectation.a[g * depth + d]), inner);
      bound[d] = add_up(bound[d], mul_up(weights[g], add_up(inner, mul_up(weight_shift, size))));
    }
  }
  return bound;
}

}  // namespace

LawOutcome check_hierarchical(const CaseTensors& tensors, Reference& reference) {
  const CaseSpec& spec = tensors.spec;
  if (kernel_of(spec).takes_masses()) {
    return LawOutcome::skip("the kernel takes masses: a group's output does not tell its exponent and mass apart");
  }
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  if (spec.num_partitions < 2) return LawOutcome::skip("one partition");
  PhiloxStream random = law_stream(tensors, LawId::hierarchical);
  std::vector<Group> groups = cut(tensors, random);
  for (Group& group : groups) {
    KernelRun run = run_kernel(group.tensors);
    if (run.fault) return LawOutcome::fail(fmt::format("group of {} partitions: {}", group.sources.size(), *run.fault));
    group.out_bits = std::move(run.out_bits);
  }
  double lse_error = 0;
  const auto outer = outer_case(tensors, groups, reference, lse_error);
  if (!outer) return LawOutcome::skip("a value or a group's result is not finite");
  const KernelRun run = run_kernel(*outer);
  if (run.fault) return LawOutcome::fail("combining the groups: " + *run.fault);

  const std::size_t depth = spec.ov_depth;
  std::vector<ElementGrade> grades(depth);
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    if (row_is_empty(tensors, rh)) continue;
    const RowVerdictInput flat = row_verdict_input(tensors, variant_of(spec), rh);
    const RowVerdictInput top = row_verdict_input(*outer, variant_of(outer->spec), rh);
    const std::vector<double> bound = charged_bound(top, groups, rh, lse_error);
    const auto first = run.out_bits.begin() + static_cast<std::ptrdiff_t>(rh * depth);
    std::vector<std::uint32_t> bits(first, first + static_cast<std::ptrdiff_t>(depth));
    std::vector<std::uint8_t> left_out(depth, 0);  // NaN where the outer combine's partial sums may overflow
    for (std::size_t d = 0; d < depth; ++d) {
      if (!is_nan(spec.out, bits[d])) continue;
      if ((top.expectation.due[d] & kNaNByOverflow) == 0) {
        return LawOutcome::fail(fmt::format("row-head {}, d {}: NaN from finite groups", rh, d));
      }
      left_out[d] = 1;
      bits[d] = 0;
    }
    reference.grade_row(flat.expectation.problem(), {spec.out, bits, bound, top.bound.inf_allowed}, grades);
    for (std::size_t d = 0; d < depth; ++d) {
      if (left_out[d] || (grades[d].within_bound && !grades[d].undecided)) continue;
      return LawOutcome::fail(fmt::format(
          "{} groups, row-head {}, d {}: got {}, the exact value rounds to {}: {:.4g} ulp, {:.4g} of the charged bound",
          groups.size(), rh, d, describe_value(spec.out, bits[d]),
          describe_value(spec.out, grades[d].correctly_rounded), grades[d].ulp, grades[d].bound_use));
    }
  }
  return LawOutcome::pass();
}

}  // namespace lsecheck
