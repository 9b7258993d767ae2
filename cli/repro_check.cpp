#include "cli/repro_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/explain_element.h"
#include "properties/kernel_death.h"
#include "reference/certified_reference.h"

namespace lsecheck::cli {
namespace {

// The largest errors of the case, whether the law holds or not.
std::string measurement_text(const AccuracyMeasurement& measured) {
  double ulp = 0;
  double scaled_ulp = 0;
  double bound_use = 0;
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < measured.grades.grades.size(); ++i) {
    if (!measured.grades.graded[i]) continue;
    const ElementGrade& grade = measured.grades.grades[i];
    ulp = std::max(ulp, grade.ulp);
    scaled_ulp = std::max(scaled_ulp, grade.scaled_ulp);
    bound_use = std::max(bound_use, grade.bound_use);
    steps = std::max(steps, grade.steps);
  }
  return fmt::format("largest  {:.4g} ulp, {:.4g} scaled ulp, {} steps, bound_use {:.4g} ({} kernel)\n", ulp,
                     scaled_ulp, steps, bound_use, measured.variant.name);
}

std::string worst_element_text(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  const std::optional<ExplainedElement> why = explain_worst(tensors, measured);
  return why ? explanation_text(*why, tensors.spec.out)
             : "explain  no element of the case is graded: there is no finite value to take apart\n";
}

// Both steps in one process: what the law has measured is described without a second run.
class ReproCheck {
 public:
  explicit ReproCheck(const ReproCase& repro) : repro_(repro) {}

  LawOutcome outcome() {
    return repro_.law->id == LawId::accuracy ? check_accuracy(repro_.tensors, *reference_, measured_)
                                             : check_guarded(*repro_.law, repro_.tensors, *reference_);
  }

  std::string description() {
    const bool of_accuracy = repro_.law->id == LawId::accuracy;
    if (!of_accuracy && repro_.explain) check_accuracy(repro_.tensors, *reference_, measured_);
    if (!measured_) return "";
    return (of_accuracy ? measurement_text(*measured_) : "") +
           (repro_.explain ? worst_element_text(repro_.tensors, *measured_) : "");
  }

 private:
  const ReproCase& repro_;
  std::unique_ptr<Reference> reference_ = make_certified_reference();
  std::optional<AccuracyMeasurement> measured_;
};

std::string reply_of(const LawOutcome& outcome) {
  return static_cast<char>(outcome.status) + outcome.message;
}

// The process ran a kernel that may have done anything to it.
LawOutcome outcome_from(const std::string& reply) {
  const auto status = static_cast<LawOutcome::Status>(reply.c_str()[0]);
  if (reply.empty() || status > LawOutcome::Status::not_applicable) {
    return LawOutcome::fail("the process that ran the kernel sent back damaged results");
  }
  return {status, reply.substr(1)};
}

constexpr std::string_view kOutcome = "outcome";
constexpr std::string_view kDescription = "description";

}  // namespace

ReproAnswer check_in_this_process(const ReproCase& repro) {
  ReproCheck check(repro);
  LawOutcome outcome = check.outcome();
  return {std::move(outcome), check.description()};
}

ReproAnswer check_isolated(const ReproCase& repro, const WorkerLimits& limits) {
  ReproCheck check(repro);
  WorkerPool pool(
      [&](std::string_view request, const WorkerPool::Mark&) {
        return request == kOutcome ? reply_of(check.outcome()) : check.description();
      },
      1, limits);
  const auto ask = [&](std::string_view request) { return pool.ask({0, std::string(request)}); };

  ReproAnswer answer;
  const WorkerAnswer law = ask(kOutcome);
  if (law.death.empty()) {
    answer.outcome = outcome_from(law.reply);
  } else {
    answer.outcome = LawOutcome::fail(kernel_death(law));
    // A law of another launch may leave the case's own to be described; the launch that has just died is not repeated.
    if (repro.law->id == LawId::accuracy) {
      if (repro.explain) answer.description = "explain  the kernel left no output to take apart\n";
      return answer;
    }
  }
  const WorkerAnswer description = ask(kDescription);
  answer.description = description.death.empty()
                           ? description.reply
                           : fmt::format("explain  {}: it left no output to take apart\n", kernel_death(description));
  return answer;
}

}  // namespace lsecheck::cli
