#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/worst_case.h"
#include "properties/case_tensors.h"
#include "properties/worker_pool.h"
#include "reference/grade.h"

namespace lsecheck {

struct WorstReplay {
  double value = -1;                   // the metric's largest value; -1 where nothing could be graded
  std::optional<std::string> failure;  // outside the bound, or a fault
  bool died = false;                   // the failure is the death of the process that ran the case
};

// The case as it is launched. nullopt: the build cannot launch the shape.
std::optional<CaseTensors> launched_tensors(const WorstCase& worst);

// Runs the case's own variant, or production's where this build lacks that. nullopt: the build cannot launch the shape.
std::optional<WorstReplay> replay(const WorstCase& worst, Reference& reference);

// The same for all, each kernel in processes of its own: a case whose process dies fails, and behind
// kDeathsUntilGivenUp deaths the kernel's other cases are nullopt, too.
std::vector<std::optional<WorstReplay>> replay_isolated(std::span<const WorstCase> cases, const WorkerLimits& limits,
                                                        unsigned jobs);

}  // namespace lsecheck
