#pragma once

#include <string>

#include "properties/case_tensors.h"
#include "properties/results.h"

namespace lsecheck {

// Adds a failure of law accuracy whose case no token can draw: its case file, which is written to `path`, takes the
// token's place. `found_as` says how the case was come by. Throws FileError (environment).
void add_file_failure(RunResults& results, const CaseTensors& tensors, const std::string& found_as,
                      const std::string& message, const std::string& path);

}  // namespace lsecheck
