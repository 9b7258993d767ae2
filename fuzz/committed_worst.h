#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/worst_case.h"
#include "fuzz/worst_replay.h"
#include "properties/results.h"
#include "properties/worker_pool.h"

namespace lsecheck {

// The content of fuzz/worst/*.txt when the program was built.
std::span<const std::string_view> committed_worst_files();

// Their cases. Throws std::invalid_argument where a file is damaged.
std::vector<WorstCase> committed_worst_cases();

struct WorstReplays {
  std::uint64_t replayed = 0;
  std::uint64_t not_in_this_build = 0;  // shapes that it cannot launch
  RunResults results;                   // failures of law accuracy alone, each with a case file in place of a token
};

// Writes the case file of a case that fails so, the `number`th, into `directory`, and adds the failure that names it.
void add_worst_failure(RunResults& results, const WorstCase& worst, const std::string& failure, std::size_t number,
                       const std::string& directory);

// Replays the cases of these kernels. Case files of what fails go to `directory`, at most four of a kernel: one that
// is broken fails most.
WorstReplays replay_worst_cases(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                const std::string& directory);
// The same, each kernel in processes of its own: a case whose process dies fails.
WorstReplays replay_worst_cases_isolated(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                         const std::string& directory, const WorkerLimits& limits, unsigned jobs);

}  // namespace lsecheck
