#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/hunt_island.h"
#include "fuzz/worst_file.h"
#include "properties/worker_pool.h"

namespace lsecheck {

struct HuntOptions {
  std::uint64_t seed = 1;
  std::uint64_t islands = 1;
  std::size_t keep = 2;  // cases of each target
  unsigned jobs = 1;
  // Islands in processes of their own, which have task_time for each. nullopt: on threads.
  std::optional<WorkerLimits> isolation;
};

struct HuntOutcome {
  std::uint64_t islands = 0;  // that were searched, all of them unless stopped
  std::optional<OutsideBound> outside;
  std::string death;  // of the process of an island, which ends the hunt before it: kernel_death(); empty: none
};

// Searches islands [record.islands, options.islands) and keeps the worst cases in `record`, whose progress says at any
// time which islands went into it; chunk_done is called after every few. The record does not depend on jobs, on
// isolation or on where an earlier hunt stopped. `stop` ends the hunt early; what islands were not finished is dropped.
HuntOutcome hunt(HuntRecord& record, IslandKind kind, const HuntOptions& options, const std::atomic<bool>& stop,
                 const std::function<void()>& chunk_done);

}  // namespace lsecheck
