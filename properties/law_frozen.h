#pragma once

#include <string>

#include "properties/frozen_set.h"
#include "properties/results.h"

// Law frozen_digest over whole kernels, as a run evaluates it after its cases.
namespace lsecheck {

// Where the rows differ: one line for each, at most `limit`, with digests and worst errors before and now; empty: they
// do not. Rows that only one side has differ.
std::string frozen_changes(const FrozenRows& recorded, const FrozenRows& now, std::size_t limit);

// One row of law frozen_digest, and one failure where any of the kernel's rows changed. Its token replays the whole
// comparison.
RunResults check_frozen_kernel(KernelId kernel, const FrozenRows& recorded);

}  // namespace lsecheck
