#include "cli/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/coverage_gaps.h"
#include "reports/terminal_report.h"

namespace lsecheck::cli {

bool standard_output_wants_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

void print_terminal_report(const StoredRun& run) {
  TerminalOptions options;
  options.not_covered = coverage_gaps(run);
  options.colour = standard_output_wants_colour();
  const std::string text = terminal_report(run, options);
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() looks for write errors
}

}  // namespace lsecheck::cli
