#pragma once

#include <string>

namespace lsecheck::cli {

// What `lsecheck --version` prints: all that fixes the bits of a result, one fact a line.
std::string version_text();

}  // namespace lsecheck::cli
