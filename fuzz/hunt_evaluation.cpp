#include "fuzz/hunt_evaluation.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "properties/case_kernel.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

namespace lsecheck {

double metric_of(const ElementGrade& grade, HuntMetric metric) {
  switch (metric) {
    case HuntMetric::ulp:
      return grade.ulp;
    case HuntMetric::scaled_ulp:
      return grade.scaled_ulp;
    case HuntMetric::steps:
      return static_cast<double>(grade.steps);
    case HuntMetric::bound_use:
      break;
  }
  return grade.bound_use;
}

KernelRun run_guarded(const CaseTensors& tensors, const RunOptions& options) {
  try {
    return run_kernel(tensors, options);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {{}, fmt::format("the launch ended with an exception: {}", error.what())};
  }
}

// The variant is that of one row: how many rows a launch holds must not choose it.
HuntEvaluation::HuntEvaluation(const CaseSpec& spec, HuntMetric metric)
    : spec_(spec), metric_(metric), variant_(variant_of(spec)), reference_(make_certified_reference()) {}

std::vector<double> HuntEvaluation::scores(std::span<const HuntRow> rows) {
  const CaseTensors tensors = tensors_of(spec_, rows);
  evaluations_ += rows.size();
  const std::size_t depth = spec_.ov_depth;
  const std::size_t columns = columns_of(spec_);
  std::vector<double> scores(rows.size() * depth, -1);
  RunOptions options;
  options.variant = variant_;
  const KernelRun run = run_guarded(tensors, options);
  if (run.fault) {
    if (!outside_) outside_ = OutsideBound{tensors, *run.fault};
    return scores;
  }
  const CaseGrades grades = grade_output(tensors, variant_, run.out_bits, *reference_);
  if (grades.violation && !outside_) {
    const std::int64_t source[] = {static_cast<std::int64_t>(grades.violation->row_head)};
    outside_ = OutsideBound{remap_rows(tensors, source), grades.violation->message};
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t d = 0; d < depth; ++d) {
      const std::size_t i = r * columns + d;
      if (grades.graded[i] != 0) scores[r * depth + d] = metric_of(grades.grades[i], metric_);
    }
  }
  return scores;
}

}  // namespace lsecheck
