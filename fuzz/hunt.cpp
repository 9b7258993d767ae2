#include "fuzz/hunt.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "properties/case_kernel.h"

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

WorstCase worst_of(const HuntTarget& target, const CaseSpec& spec, const IslandFind& find) {
  WorstCase worst;
  worst.target = target;
  worst.variant = variant_of(spec).name;
  worst.ov_depth = spec.ov_depth;
  worst.exponent_scale = hunt_exponent_scale(spec);
  worst.value = find.score;
  worst.lse = find.lse;
  worst.mass = find.mass;
  worst.o = find.o;
  return worst;
}

}  // namespace

HuntOutcome hunt(HuntRecord& record, IslandKind kind, const HuntOptions& options, const std::atomic<bool>& stop,
                 const std::function<void()>& chunk_done) {
  const std::optional<CaseSpec> spec = hunt_spec(record.target);
  if (!spec) throw std::invalid_argument("the kernel cannot be launched like this");
  HuntOutcome outcome;
  while (record.islands < options.islands && !stop) {
    const std::uint64_t end = std::min(record.islands + kChunk, options.islands);
    for (const auto& result : search_range(record.target, kind, options, record.islands, end, stop)) {
      if (!result) return outcome;
      ++record.islands;
      ++outcome.islands;
      if (result->outside) {
        outcome.outside = result->outside;
        return outcome;
      }
      if (result->best.score >= 0) record.add(worst_of(record.target, *spec, result->best), options.keep);
    }
    chunk_done();
  }
  return outcome;
}

}  // namespace lsecheck
