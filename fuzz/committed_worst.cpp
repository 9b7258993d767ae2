#include "fuzz/committed_worst.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fuzz/file_failure.h"
#include "fuzz/worst_file.h"
#include "properties/kernel_death.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"

namespace lsecheck {

namespace {

constexpr std::uint64_t kReportedPerKernel = 4;

}  // namespace

void add_worst_failure(RunResults& results, const WorstReplay& replayed, std::size_t number,
                       const std::string& directory) {
  add_file_failure(results, replayed.tensors, "a known worst case", *replayed.failure,
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
    add_worst_failure(all.results, *replayed, i, directory);
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

// What a worker says of a case: how it went, then the failure.
constexpr char kNotInThisBuild = 'n';
constexpr char kHolds = 'h';
constexpr char kFails = 'f';

}  // namespace

WorstReplays replay_worst_cases(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                const std::string& directory) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  return replay_each(cases, of_kernels(cases, kernels), directory,
                     [&](std::size_t i) { return replay(cases[i], *reference); });
}

WorstReplays replay_worst_cases_isolated(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                         const std::string& directory, const WorkerLimits& limits, unsigned jobs) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const auto serve = [&](std::string_view request, const WorkerPool::Mark&) {
    const auto replayed = replay(cases[std::stoull(std::string(request))], *reference);
    if (!replayed) return std::string(1, kNotInThisBuild);
    return replayed->failure ? kFails + *replayed->failure : std::string(1, kHolds);
  };
  const std::vector<std::size_t> chosen = of_kernels(cases, kernels);
  std::vector<WorkerTask> tasks;
  for (const std::size_t i : chosen) {
    tasks.push_back({static_cast<std::size_t>(cases[i].target.kernel), std::to_string(i)});
  }
  const std::vector<WorkerAnswer> answers = WorkerPool(serve, jobs, limits).run(tasks, kDeathsUntilGivenUp);
  std::map<std::size_t, std::size_t> answer_of;
  for (std::size_t t = 0; t < chosen.size(); ++t) answer_of[chosen[t]] = t;
  return replay_each(cases, chosen, directory, [&](std::size_t i) -> std::optional<WorstReplay> {
    const WorkerAnswer& answer = answers[answer_of[i]];
    const bool died = !answer.death.empty();
    if (!died && (answer.reply.empty() || answer.reply.front() == kNotInThisBuild)) return std::nullopt;
    WorstReplay replayed{launched_tensors(cases[i]).value(), -1, std::nullopt};
    if (died) replayed.failure = kernel_death(answer);
    if (!died && answer.reply.front() == kFails) replayed.failure = answer.reply.substr(1);
    return replayed;
  });
}

}  // namespace lsecheck
