#include "fuzz/committed_worst.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fuzz/file_failure.h"
#include "fuzz/worst_file.h"
#include "reference/certified_reference.h"

namespace lsecheck {

namespace {

constexpr std::uint64_t kReportedPerKernel = 4;

}  // namespace

void add_worst_failure(RunResults& results, const WorstCase& worst, const std::string& failure, std::size_t number,
                       const std::string& directory) {
  add_file_failure(results, launched_tensors(worst).value(), "a known worst case", failure,
                   fmt::format("{}/worst-{}.safetensors", directory, number));
}

std::vector<WorstCase> committed_worst_cases() {
  std::vector<WorstCase> cases;
  for (const std::string_view text : committed_worst_files()) {
    for (HuntRecord& record : parse_worst_file(text).records) {
      std::move(record.cases.begin(), record.cases.end(), std::back_inserter(cases));
    }
  }
  return cases;
}

namespace {

// `replay_one` runs cases[i]; nullopt: not in this build.
template <class ReplayOne>
WorstReplays replay_each(std::span<const WorstCase> cases, std::span<const std::size_t> chosen,
                         const std::string& directory, const ReplayOne& replay_one) {
  WorstReplays all;
  std::map<KernelId, std::uint64_t> failed;
  for (const std::size_t i : chosen) {
    const KernelId kernel = cases[i].target.kernel;
    if (failed[kernel] == kReportedPerKernel) continue;
    const std::optional<WorstReplay> replayed = replay_one(i);
    all.replayed += replayed ? 1 : 0;
    all.not_in_this_build += replayed ? 0 : 1;
    if (!replayed || !replayed->failure) continue;
    ++failed[kernel];
    add_worst_failure(all.results, cases[i], *replayed->failure, i, directory);
  }
  return all;
}

std::vector<std::size_t> of_kernels(std::span<const WorstCase> cases, std::span<const KernelId> kernels) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (std::find(kernels.begin(), kernels.end(), cases[i].target.kernel) != kernels.end()) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

WorstReplays replay_worst_cases(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                const std::string& directory) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  return replay_each(cases, of_kernels(cases, kernels), directory,
                     [&](std::size_t i) { return replay(cases[i], *reference); });
}

WorstReplays replay_worst_cases_isolated(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                         const std::string& directory, const WorkerLimits& limits, unsigned jobs) {
  const std::vector<std::size_t> chosen = of_kernels(cases, kernels);
  std::vector<WorstCase> of_chosen;
  of_chosen.reserve(chosen.size());
  for (const std::size_t i : chosen) of_chosen.push_back(cases[i]);
  const std::vector<std::optional<WorstReplay>> replays = replay_isolated(of_chosen, limits, jobs);
  std::map<std::size_t, std::size_t> place_of;
  for (std::size_t place = 0; place < chosen.size(); ++place) place_of[chosen[place]] = place;
  return replay_each(cases, chosen, directory, [&](std::size_t i) { return replays[place_of[i]]; });
}

}  // namespace lsecheck
