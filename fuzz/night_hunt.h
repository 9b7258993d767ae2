#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/hunt_target.h"
#include "properties/results.h"
#include "properties/worker_pool.h"

// The hunts of a night: a search for the largest bound_use at every target, as rows of a run's results. A row depends
// on its target, the seed and the evaluations alone.
namespace lsecheck {

// The night's third of all targets that the kernels can be launched with: seeds of three days in a row share them out.
// Each kernel, pair of types and exponent form is hunted every night, its regimes at other partition counts.
std::vector<HuntTarget> night_targets(std::span<const KernelId> kernels, Arch arch, std::uint64_t seed);

HuntKey key_of(const HuntTarget& target);

// Whole restarts (kIslandEvaluations) that are at least so many evaluations.
std::uint64_t whole_restarts(std::uint64_t evaluations);

struct NightHunt {
  std::uint64_t seed = 0;
  std::uint64_t evaluations = 0;  // row-heads for each target, whole_restarts()
  std::string failure_directory;  // for the case files of what is outside the bound
  unsigned jobs = 1;
  // Each kernel in processes of its own; its task_time is for one restart. nullopt: in this process.
  std::optional<WorkerLimits> isolation;
};

class NightHunter {
 public:
  NightHunter(NightHunt options, std::vector<HuntTarget> targets);
  NightHunter(const NightHunter&) = delete;  // workers hold on to it
  NightHunter& operator=(const NightHunter&) = delete;

  // A row for each of targets [begin, end), and failures of law accuracy. Targets of a kernel that brought down
  // kDeathsUntilGivenUp processes since the hunter began have none.
  RunResults hunt(std::size_t begin, std::size_t end);

 private:
  RunResults hunt_isolated(std::size_t begin, std::size_t end);
  bool given_up(KernelId kernel) const;

  NightHunt options_;
  std::vector<HuntTarget> targets_;
  std::unique_ptr<WorkerPool> pool_;  // with isolation
  std::map<KernelId, unsigned> deaths_;
};

}  // namespace lsecheck
