#pragma once

#include "properties/runner.h"

namespace lsecheck::cli {

// Holds the laws of the whole run (frozen_digest, distribution) that the run's law pattern asks for, on cases of their
// own: each kernel of the config that `before` has no row of. A shard takes its share of the kernels. Their bits are
// those of the executor with the measured unit; for anything else, and for a run of fewer cases than smoke's unless its
// pattern asks for these laws alone, nothing is held. With isolation, a kernel that brings its process down fails.
RunResults hold_laws_of_run(const RunConfig& config, const RunResults& before);

}  // namespace lsecheck::cli
