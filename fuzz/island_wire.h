#pragma once

#include <string>
#include <string_view>

#include "fuzz/hunt_island.h"

// An island's result as bytes between two processes of the same program: no file format, no versions.
namespace lsecheck {

// Not empty.
std::string island_to_wire(const HuntTarget& target, const IslandResult& result);

// Throws std::invalid_argument for bytes that island_to_wire() did not write for the target: the process at the other
// end ran a kernel that may have done anything.
IslandResult island_from_wire(const HuntTarget& target, std::string_view bytes);

}  // namespace lsecheck
