#include "fuzz/hunt.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "fuzz/island_wire.h"
#include "properties/kernel_death.h"

namespace lsecheck {

namespace {

// Islands between two calls of chunk_done.
constexpr std::uint64_t kChunk = 16;

using Results = std::vector<std::optional<IslandResult>>;

// Islands [begin, end), in their order whatever finishes first. nullopt: not finished, because of stop.
Results search_range(const HuntTarget& target, IslandKind kind, const HuntOptions& options, std::uint64_t begin,
                     std::uint64_t end, const std::atomic<bool>& stop) {
  Results results(end - begin);
  std::atomic<std::uint64_t> next{begin};
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto work = [&] {
    try {
      for (std::uint64_t i = next++; i < end && !stop; i = next++) {
        results[i - begin] = run_island(target, kind, options.seed, i, stop);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
      next = end;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned job = 1; job < options.jobs; ++job) threads.emplace_back(work);
    work();
  }
  if (first_error) std::rethrow_exception(first_error);
  return results;
}

// The same in the pool's processes, up to the first that dies: `death` tells how.
Results search_isolated(const HuntTarget& target, WorkerPool& pool, std::uint64_t begin, std::uint64_t end,
                        const std::atomic<bool>& stop, std::string& death) {
  for (std::uint64_t i = begin; i < end; ++i) pool.submit({0, std::to_string(i)});
  Results results(end - begin);
  for (std::optional<IslandResult>& result : results) {
    std::optional<WorkerAnswer> answer = pool.next(stop);
    if (!answer) break;
    if (answer->death.empty()) {
      try {
        result = island_from_wire(target, answer->reply);
        continue;
      } catch (const std::invalid_argument&) {
        answer->death = "sent back damaged results";
      }
    }
    death = kernel_death(*answer);
    break;
  }
  return results;
}

}  // namespace

HuntOutcome hunt(HuntRecord& record, IslandKind kind, const HuntOptions& options, const std::atomic<bool>& stop,
                 const std::function<void()>& chunk_done) {
  const HuntTarget& target = record.target;
  if (!hunt_spec(target)) throw std::invalid_argument("the kernel cannot be launched like this");
  // Ends with the hunt, and with it whatever its processes are still at. They heed no `stop` of their own.
  std::optional<WorkerPool> pool;
  if (options.isolation) {
    const auto serve = [&](std::string_view request, const WorkerPool::Mark&) {
      const std::atomic<bool> never{false};
      const std::uint64_t island = std::stoull(std::string(request));
      return island_to_wire(target, run_island(target, kind, options.seed, island, never).value());
    };
    pool.emplace(serve, options.jobs, *options.isolation);
  }
  HuntOutcome outcome;
  while (record.islands < options.islands && !stop) {
    const std::uint64_t end = std::min(record.islands + kChunk, options.islands);
    const Results results = pool ? search_isolated(target, *pool, record.islands, end, stop, outcome.death)
                                 : search_range(target, kind, options, record.islands, end, stop);
    for (const std::optional<IslandResult>& result : results) {
      if (!result) return outcome;
      ++record.islands;
      ++outcome.islands;
      if (result->outside) {
        outcome.outside = result->outside;
        return outcome;
      }
      if (result->best.score >= 0) record.add(worst_of(target, result->best), options.keep);
    }
    chunk_done();
  }
  return outcome;
}

}  // namespace lsecheck
