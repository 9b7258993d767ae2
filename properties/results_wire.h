#pragma once

#include <string>
#include <string_view>

#include "properties/results.h"

// Results as bytes between two processes of the same program: no file format, no versions.
namespace lsecheck {

std::string to_wire(const RunResults& results);
std::string to_wire(const Failure& failure);

// Throw std::invalid_argument for bytes that to_wire() did not write: the process at the other end ran a kernel that
// may have done anything.
RunResults results_from_wire(std::string_view bytes);
Failure failure_from_wire(std::string_view bytes);

}  // namespace lsecheck
