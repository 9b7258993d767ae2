#pragma once

#include "reports/stored_run.h"

namespace lsecheck::cli {

// Standard output is a terminal and NO_COLOR (no-color.org) is not set.
bool standard_output_wants_colour();

// The report of the run for a reader at a terminal, to standard output.
void print_terminal_report(const StoredRun& run);

}  // namespace lsecheck::cli
