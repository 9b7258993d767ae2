#pragma once

#include <string>

#include "properties/explain/explained_element.h"

namespace lsecheck {

// What the steps bring into the error, for a failure's message: a heading, the four largest shares that are not 0 in
// the order of the steps, and the others together; no line feed at the end. Empty where every share is 0.
std::string share_lines(const ExplainedElement& element);

}  // namespace lsecheck
