#pragma once

#include "properties/runner.h"

namespace lsecheck {

// The failure of a case of the run whose process died, made small by what dies likewise: every attempt is a process of
// its own. What died at a limit of time or memory stays as it was drawn, for each attempt would run to that limit; so
// does what does not die alone. Its case file goes to config.failure_directory. config.isolation holds a value.
Failure shrunk_crash(Failure failure, const WorkerAnswer& death, const RunConfig& config);

}  // namespace lsecheck
