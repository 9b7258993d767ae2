#include "fuzz/worst_replay.h"

#include <algorithm>
#include <utility>

#include "fuzz/hunt_evaluation.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/grade_case.h"

namespace lsecheck {

namespace {

CaseSpec launched_spec(const WorstCase& worst) {
  const HuntTarget& target = worst.target;
  CaseSpec spec;
  spec.kernel = target.kernel;
  spec.arch = target.arch;
  spec.num_partitions = static_cast<std::uint16_t>(target.num_partitions);
  spec.ov_depth = static_cast<std::uint16_t>(worst.ov_depth);
  spec.out = target.out;
  spec.partial = target.partial;
  spec.exponent = target.exponent;
  spec.lse = target.regime;
  return spec;
}

}  // namespace

std::optional<CaseTensors> launched_tensors(const WorstCase& worst) {
  const CaseSpec spec = launched_spec(worst);
  if (spec_error(spec) || kernel_of(spec).refuse(shape_of(spec))) return std::nullopt;
  HuntRow row{worst.lse, worst.mass, {}};
  for (const std::uint32_t bits : worst.o) row.o.insert(row.o.end(), spec.ov_depth, bits);
  CaseTensors tensors = tensors_of(spec, std::span(&row, 1));
  tensors.exponent_scale = worst.exponent_scale;
  return tensors;
}

std::optional<WorstReplay> replay(const WorstCase& worst, Reference& reference) {
  std::optional<CaseTensors> tensors = launched_tensors(worst);
  if (!tensors) return std::nullopt;
  const CaseSpec spec = tensors->spec;
  WorstReplay result;
  result.tensors = std::move(*tensors);
  const std::vector<KernelVariant> variants = kernel_of(spec).variants(shape_of(spec));
  const auto own = std::find_if(variants.begin(), variants.end(),
                                [&](const KernelVariant& variant) { return variant.name == worst.variant; });
  RunOptions options;
  options.variant = own == variants.end() ? variants.front() : *own;
  const KernelRun run = run_guarded(result.tensors, options);
  if (run.fault) {
    result.failure = *run.fault;
    return result;
  }
  const CaseGrades grades = grade_output(result.tensors, *options.variant, run.out_bits, reference);
  if (grades.violation) result.failure = grades.violation->message;
  for (std::size_t d = 0; d < spec.ov_depth; ++d) {
    if (grades.graded[d] != 0) result.value = std::max(result.value, metric_of(grades.grades[d], worst.target.metric));
  }
  return result;
}

}  // namespace lsecheck
