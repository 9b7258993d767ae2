#pragma once

#include "properties/explain/explained_element.h"

namespace lsecheck::cli {

// Prints an element's steps to standard output: the kernel's values beside the exact ones, and each step's share of the
// error. out: the type of the output.
void print_explanation(const ExplainedElement& why, DType out);

}  // namespace lsecheck::cli
