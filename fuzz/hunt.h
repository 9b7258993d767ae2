#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fuzz/hunt_island.h"
#include "fuzz/worst_file.h"

namespace lsecheck {

struct HuntOptions {
  std::uint64_t seed = 1;
  std::uint64_t islands = 1;
  std::size_t keep = 2;  // cases of each target
  unsigned jobs = 1;
};

struct HuntOutcome {
  std::uint64_t islands = 0;  // that were searched, all of them unless stopped
  std::optional<OutsideBound> outside;
};

// Searches islands [record.islands, options.islands) and keeps the worst cases in `record`, whose progress says at any
// time which islands went into it; chunk_done is called after every few. The record does not depend on jobs or on
// where an earlier hunt stopped. `stop` ends the hunt early; what islands were not finished is dropped.
HuntOutcome hunt(HuntRecord& record, IslandKind kind, const HuntOptions& options, const std::atomic<bool>& stop,
                 const std::function<void()>& chunk_done);

}  // namespace lsecheck
