#pragma once

#include <cstdint>

#include "properties/results.h"
#include "properties/waivers.h"

namespace lsecheck {

// A run as it is kept and shown: finished, or as far as its last committed batch.
struct StoredRun {
  RunContext context;
  RunResults results;
  std::uint64_t next_case_index = 0;  // the first case that is not in results
  bool finished = false;
  WaiverJudgement waivers = {};  // of the day; not stored
};

}  // namespace lsecheck
