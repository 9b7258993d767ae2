#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace lsecheck::cli {

bool standard_output_wants_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace lsecheck::cli
