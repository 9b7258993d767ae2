#include "properties/explain/explained_element.h"

#include <fmt/format.h>
#include <mpfr.h>

#include <cmath>

#include "properties/case_kernel.h"
#include "properties/explain/contract_replays.h"
#include "properties/grade_case.h"
#include "reference/float_format.h"
#include "reference/mpfr_thread_cache.h"

namespace lsecheck {
namespace {

// Where a finite value is due the contract drops what is not finite: as good as 0.
float finite_or_zero(double value) {
  return std::isfinite(value) ? static_cast<float>(value) : 0.0F;
}

ElementInput input_of(const CaseTensors& tensors, std::size_t row_head, std::size_t column) {
  ElementInput input;
  input.form = tensors.spec.exponent;
  input.exponent_scale = tensors.exponent_scale;
  if (column >= tensors.spec.ov_depth) input.columns_past_depth = 1 + column - tensors.spec.ov_depth;
  if (!tensors.attention_sink.empty()) input.sink = tensors.attention_sink[row_head % tensors.spec.heads];
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    const std::size_t pair = tensors.lse_index(p, row_head);
    input.exponent.push_back(tensors.lse_partial[pair]);
    if (!tensors.mass_partial.empty()) input.mass.push_back(tensors.mass_partial[pair]);
    input.o.push_back(
        input.columns_past_depth > 0
            ? input.mass.back()
            : finite_or_zero(decode(tensors.spec.partial, tensors.o_partial[tensors.o_index(p, row_head, column)])));
  }
  return input;
}

// An exact 0 has no sign, whatever the signs of its terms.
double shown(const Exact& exact) {
  return exact.convert_to<double>() + 0.0;
}

// The ulp at x's binade. The last bits of x are the roundings on the way to it, which must not put a power of two into
// the binade below: they are rounded off first. (So what is within 2^-900 of a power of two counts as that power.)
double ulp_of(DType type, Exact x) {
  mpfr_prec_round(x.backend().data(), 900, MPFR_RNDN);
  return ulp_at(type, mpfr_get_d(x.backend().data(), MPFR_RNDZ));
}

ExplainedValue beside(const Exact& kernel, const Exact& exact) {
  const Exact error = kernel - exact;
  return {kernel.convert_to<double>(), shown(exact), error.convert_to<double>()};
}

// kernel and exact: the same contract, in f32 and exact throughout.
void show_steps(const ElementInput& input, const ContractRun& kernel, const ContractRun& exact,
                ExplainedElement& element) {
  for (std::size_t i = 0; i < kernel.values().size(); ++i) {
    element.values.push_back({kernel.values()[i].first, beside(kernel.values()[i].second, exact.values()[i].second)});
  }
  for (std::size_t i = 0; i < kernel.partitions().size(); ++i) {
    const ContractRun::Partition& got = kernel.partitions()[i];
    const ContractRun::Partition& due = exact.partitions()[i];
    const std::optional<float> mass = input.mass.empty() ? std::nullopt : std::optional(input.mass[got.p]);
    element.partitions.push_back({got.p, input.exponent[got.p], mass, input.o[got.p], beside(got.weight, due.weight),
                                  beside(got.partial_sum, due.partial_sum)});
  }
}

}  // namespace

ExplainedElement explain_element(const CaseTensors& tensors, std::size_t row_head, std::size_t column,
                                 std::uint32_t stored_bits) {
  free_mpfr_cache_at_thread_end();
  const DType out = tensors.spec.out;
  const ContractReplay replay = replay_of(tensors.spec.kernel);
  const ElementInput input = input_of(tensors, row_head, column);

  ContractRun kernel_run(ContractRun::kAll, tensors.spec.unit);
  const Exact computed = replay(input, kernel_run);
  ContractRun exact_run(0, tensors.spec.unit);
  const Exact exact = replay(input, exact_run);

  ExplainedElement element{row_head, column, {}, {}, shown(exact), 0, stored_bits, {}, 0};
  show_steps(input, kernel_run, exact_run, element);
  element.contract_bits = round_to_nearest_even(out, computed.convert_to<double>());

  const Exact ulp = ulp_of(out, exact);
  Exact before = exact;
  const auto add_share = [&](std::string step, const Exact& with_step) {
    const Exact change = (with_step - before) / ulp;
    element.shares.push_back({std::move(step), change.convert_to<double>()});
    before = with_step;
  };
  const std::vector<std::string>& names = kernel_run.step_names();
  for (std::size_t k = 1; k <= names.size(); ++k) {
    ContractRun run(k, tensors.spec.unit);
    add_share(names[k - 1], replay(input, run));
  }
  add_share(fmt::format("cast to {}", name_of(out)), decode(out, element.contract_bits));
  if (stored_bits != element.contract_bits) {
    add_share(fmt::format("not in the contract, which gives {}", describe_value(out, element.contract_bits)),
              decode(out, stored_bits));
  }
  const Exact total = (before - exact) / ulp;
  element.total_ulp = total.convert_to<double>();
  return element;
}

bool finite_value_is_due(const CaseTensors& tensors, const KernelVariant& variant, std::size_t row_head,
                         std::size_t column) {
  RowCopy row;
  const RowExpectation expectation =
      kernel_of(tensors.spec)
          .expect(shape_of(tensors), variant, gather_row(tensors, row_head, row), tensors.spec.unit.kind);
  return expectation.row_class == RowClass::finite && (expectation.due[column] & ~kNaNByOverflow) == kFinite;
}

std::optional<ExplainedElement> explain_violation(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  const std::optional<Violation>& violation = measured.grades.violation;
  if (!violation || tensors.spec.kernel == KernelId::plugin) return std::nullopt;
  if (!finite_value_is_due(tensors, measured.variant, violation->row_head, violation->depth_index)) return std::nullopt;
  const std::size_t place = violation->row_head * columns_of(tensors.spec) + violation->depth_index;
  return explain_element(tensors, violation->row_head, violation->depth_index, measured.out_bits[place]);
}

std::optional<ExplainedElement> explain_worst(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  if (auto violation = explain_violation(tensors, measured)) return violation;
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < measured.out_bits.size(); ++i) {
    if (!measured.grades.graded[i] || !is_finite(tensors.spec.out, measured.out_bits[i])) continue;
    if (!worst || measured.grades.grades[i].bound_use > measured.grades.grades[*worst].bound_use) worst = i;
  }
  if (!worst) return std::nullopt;
  const std::size_t columns = columns_of(tensors.spec);
  return explain_element(tensors, *worst / columns, *worst % columns, measured.out_bits[*worst]);
}

}  // namespace lsecheck
