#pragma once

#include <cstdint>
#include <memory>

#include "reference/grade.h"

namespace lsecheck {

// Where elements were decided.
struct TierCounts {
  std::uint64_t elements = 0;
  std::uint64_t left_double = 0;         // open after double
  std::uint64_t left_double_double = 0;  // of those, open after double-double too
};

// The fast reference: enclosures in double, in double-double for what that leaves open, and the exact reference for the
// rest. Grades are those of the exact reference, byte for byte. counts, when given, outlives the reference, which adds
// to it.
std::unique_ptr<Reference> make_certified_reference(TierCounts* counts = nullptr);

}  // namespace lsecheck
