#include "kernels/simt/launch.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "kernels/simt/block_runner.h"
#include "kernels/simt/last_block.h"

namespace lsecheck::simt {

namespace {

// CUDA's launch limits: x to 2^31 - 1, y and z to 65535, 1024 threads a block.
std::optional<Fault> check_limits(const Launch& launch) {
  const Dim3& grid = launch.grid;
  const Dim3& block = launch.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (grid.x >= 1 && grid.x <= 0x7fffffffU && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535 &&
      threads >= 1 && threads <= 1024) {
    return std::nullopt;
  }
  return Fault{FaultKind::grid_limit, 0,
               fmt::format("kernel {}: grid ({},{},{}) of {} threads cannot be launched: x goes to 2147483647, y and z "
                           "to 65535, a block to 1024 threads",
                           launch.kernel, grid.x, grid.y, grid.z, threads)};
}

}  // namespace

std::optional<Fault> run(const Launch& launch, const std::function<void()>& body) {
  if (auto fault = check_limits(launch)) return fault;
  const std::uint64_t grid_blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const std::uint64_t count = launch.only_blocks ? launch.only_blocks->size() : grid_blocks;
  const auto block_at = [&](std::uint64_t i) {
    const std::uint64_t block = launch.only_blocks ? (*launch.only_blocks)[i] : i;
    return block >= kBlockFromTheEnd ? grid_blocks - 1 - (kLastBlock - block) : block;
  };

  if (launch.jobs <= 1 || count == 1) {
    BlockRunner runner(launch, body);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (auto fault = runner.run_block(block_at(i))) return fault;
    }
    return std::nullopt;
  }

  // Blocks are handed out in order; the fault kept is that of the first faulting one, whichever thread met it first.
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> stop_at{count};
  std::mutex mutex;
  std::optional<Fault> first;
  std::uint64_t first_index = count;
  const auto work = [&] {
    BlockRunner runner(launch, body);
    for (std::uint64_t i = next++; i < stop_at; i = next++) {
      auto fault = runner.run_block(block_at(i));
      if (!fault) continue;
      const std::lock_guard lock(mutex);
      if (i < first_index) {
        first_index = i;
        first = std::move(fault);
        stop_at = i;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned job = 1; job < launch.jobs; ++job) threads.emplace_back(work);
  work();
  threads.clear();
  return first;
}

}  // namespace lsecheck::simt
