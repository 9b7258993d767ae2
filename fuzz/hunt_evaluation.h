#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/hunt_target.h"
#include "properties/grade_case.h"
#include "properties/run_case.h"
#include "reference/grade.h"

// Runs rows through the executor and measures them. A value outside the kernel's bound is the find that ends a hunt.
namespace lsecheck {

struct OutsideBound {
  CaseTensors tensors;  // one row
  std::string message;
};

class HuntEvaluation {
 public:
  HuntEvaluation(const CaseSpec& spec, HuntMetric metric);

  // [rows, ov_depth] of the metric; -1 where no finite value is due. Columns beyond the values are not looked at.
  std::vector<double> scores(std::span<const HuntRow> rows);

  std::uint64_t evaluations() const { return evaluations_; }
  const std::optional<OutsideBound>& outside() const { return outside_; }  // the first one seen

 private:
  CaseSpec spec_;
  HuntMetric metric_;
  KernelVariant variant_;
  std::unique_ptr<Reference> reference_;
  std::uint64_t evaluations_ = 0;
  std::optional<OutsideBound> outside_;
};

// run_kernel() with an exception turned into a fault: the kernel's failure, not the end of the hunt. Missing memory
// (std::bad_alloc) passes through.
KernelRun run_guarded(const CaseTensors& tensors, const RunOptions& options);

double metric_of(const ElementGrade& grade, HuntMetric metric);

}  // namespace lsecheck
