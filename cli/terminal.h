#pragma once

namespace lsecheck::cli {

// Standard output is a terminal and NO_COLOR (no-color.org) is not set.
bool standard_output_wants_colour();

}  // namespace lsecheck::cli
