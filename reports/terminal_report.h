#pragma once

#include <string>
#include <vector>

#include "reports/stored_run.h"

namespace lsecheck {

struct TerminalOptions {
  std::vector<std::string> not_covered;  // case classes the run was checked for and did not reach
  bool colour = false;
  std::size_t failures_shown = 20;
};

// The verdict first, then what was run, the accuracy of each kernel, the laws, the failures with a line to paste, and
// last what to do. No line is wider than 120 columns but one that is to be pasted.
std::string terminal_report(const StoredRun& run, const TerminalOptions& options);

}  // namespace lsecheck
