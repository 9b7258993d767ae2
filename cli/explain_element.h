#pragma once

#include <string>

#include "properties/explain/explained_element.h"

namespace lsecheck::cli {

// An element's steps as lines: the kernel's values beside the exact ones, and each step's share of the error. out: the
// type of the output.
std::string explanation_text(const ExplainedElement& why, DType out);

}  // namespace lsecheck::cli
