#pragma once

#include <string>

#include "reports/stored_run.h"

namespace lsecheck {

// The run as JUnit XML: a test suite for each kernel with a test case for each law (skipped where nothing was checked),
// and one each for replayed old failures, corpus inputs and hunts. The text of a failure holds the line to replay it.
// At most kJunitFailuresShown failures of one law are told in full. Equal runs give equal bytes: there are no times in
// it.
inline constexpr std::size_t kJunitFailuresShown = 20;
std::string junit_report(const StoredRun& run);

}  // namespace lsecheck
