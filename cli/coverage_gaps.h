#pragma once

#include <string>
#include <vector>

#include "reports/stored_run.h"

namespace lsecheck::cli {

// The case classes that a run under this context is checked for and did not reach, with how far it came: a small run
// says "not covered". Empty for a run of another generator version, whose classes are not known here.
std::vector<std::string> coverage_gaps(const StoredRun& run);

}  // namespace lsecheck::cli
