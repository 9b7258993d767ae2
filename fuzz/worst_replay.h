#pragma once

#include <optional>
#include <string>

#include "fuzz/worst_case.h"
#include "properties/case_tensors.h"
#include "reference/grade.h"

namespace lsecheck {

struct WorstReplay {
  CaseTensors tensors;
  double value = -1;                   // the metric's largest value; -1 where nothing could be graded
  std::optional<std::string> failure;  // outside the bound, or a fault
};

// The case as it is launched. nullopt: the build cannot launch the shape.
std::optional<CaseTensors> launched_tensors(const WorstCase& worst);

// Runs the case's own variant, or production's where this build lacks that. nullopt: the build cannot launch the shape.
std::optional<WorstReplay> replay(const WorstCase& worst, Reference& reference);

}  // namespace lsecheck
