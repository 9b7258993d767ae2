#pragma once

#include <string>
#include <vector>

#include "properties/case_spec.h"
#include "properties/laws.h"
#include "properties/replay_case.h"

// The kept inputs of the fuzz target combine_case as cases that a run replays.
namespace lsecheck {

// Every file of the folder, ordered by name. Throws std::invalid_argument where there is no such folder, or none in it.
std::vector<std::string> corpus_inputs(const std::string& folder);

// Each input is the case that it decodes to (combine_case_input.h), held to all of `laws`. Inputs of other kernels, and
// those whose choices no kernel of this build goes with, are not applicable. The case of one that fails goes to
// `failure_directory`, made small.
ReplaySource corpus_source(const std::vector<KernelId>& kernels, const std::vector<const Law*>& laws,
                           const std::string& failure_directory);

}  // namespace lsecheck
