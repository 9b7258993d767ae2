#include "fuzz/night_hunt.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "fuzz/file_failure.h"
#include "fuzz/hunt.h"
#include "fuzz/worst_file.h"
#include "properties/case_limits.h"
#include "properties/kernel_death.h"
#include "properties/results_wire.h"
#include "properties/runner.h"

namespace lsecheck {
namespace {

std::string failure_path(const HuntTarget& target, const std::string& directory) {
  return fmt::format("{}/hunt-{}.{}.{}.{}.{}.P{}.safetensors", directory, name_of(target.kernel), name_of(target.out),
                     name_of(target.partial), name_of(target.exponent), name_of(target.regime), target.num_partitions);
}

RunResults hunt_one(const HuntTarget& target, const NightHunt& options, unsigned jobs) {
  HuntRecord record{target, options.seed, 0, {}};
  const HuntOptions hunt_options{options.seed, options.evaluations / kIslandEvaluations, 1, jobs, std::nullopt};
  const std::atomic<bool> never{false};
  const HuntOutcome outcome = hunt(record, IslandKind::search, hunt_options, never, [] {});
  RunResults results;
  HuntStat& row = results.hunts[key_of(target)];
  row.evaluations = record.islands * kIslandEvaluations;
  if (outcome.outside) {
    row.bound_use = std::numeric_limits<double>::infinity();
    add_file_failure(results, outcome.outside->tensors, "hunted", outcome.outside->message,
                     failure_path(target, options.failure_directory));
  } else if (!record.cases.empty()) {
    row.bound_use = record.cases.front().value;
    row.worst = format_worst_case(record.cases.front());
  }
  return results;
}

// The search is lost with its process, so the token is of a case of the same shape as the generator draws it.
RunResults dead_hunt(const HuntTarget& target, const WorkerAnswer& answer) {
  RunResults results;
  results.hunts[key_of(target)].bound_use = std::numeric_limits<double>::infinity();
  const std::string kernel(name_of(target.kernel));
  const std::string token = shape_token(target);
  results.failures.push_back({0, kernel, "accuracy", token, token, "",
                              "of the shape hunted: " + describe_spec(hunt_spec(target).value()),
                              fmt::format("while {} was hunted {}; the token is of a case of that shape, the hunt "
                                          "itself is run again by its line under Hunts",
                                          describe_target(target), kernel_death(answer))});
  ++results.totals.failures;
  results.laws[{kernel, "accuracy"}] = {1, 0, 1};
  return results;
}

}  // namespace

std::vector<HuntTarget> night_targets(std::span<const KernelId> kernels, Arch arch, std::uint64_t seed) {
  constexpr std::uint64_t kNights = 3;  // as many as a target has partition counts
  HuntScope scope;
  scope.kernels.assign(kernels.begin(), kernels.end());
  scope.arch = arch;
  scope.metric = HuntMetric::bound_use;
  std::vector<HuntTarget> chosen;
  for (const TypePair& types : kTypePairs) {
    scope.out = types.out;
    scope.partial = types.partial;
    for (std::size_t r = 0; r < hunt_regimes().size(); ++r) {
      scope.regimes = {hunt_regimes()[r]};
      std::uint64_t place = 0;  // of the partition count among those of its kernel and exponent form
      HuntTarget before;
      for (const HuntTarget& target : hunt_targets(scope)) {
        const bool same = place > 0 && target.kernel == before.kernel && target.exponent == before.exponent;
        if (!same) place = 0;
        if ((place + r) % kNights == seed % kNights) chosen.push_back(target);
        before = target;
        ++place;
      }
    }
  }
  return chosen;
}

HuntKey key_of(const HuntTarget& target) {
  return {std::string(name_of(target.kernel)),
          std::string(name_of(target.out)),
          std::string(name_of(target.partial)),
          std::string(name_of(target.exponent)),
          std::string(name_of(target.arch)),
          std::string(name_of(target.regime)),
          static_cast<std::uint32_t>(target.num_partitions)};
}

std::uint64_t whole_restarts(std::uint64_t evaluations) {
  return (evaluations / kIslandEvaluations + (evaluations % kIslandEvaluations == 0 ? 0 : 1)) * kIslandEvaluations;
}

NightHunter::NightHunter(NightHunt options, std::vector<HuntTarget> targets)
    : options_(std::move(options)), targets_(std::move(targets)) {
  if (!options_.isolation) return;
  const auto serve = [this](std::string_view request, const WorkerPool::Mark&) {
    return to_wire(hunt_one(targets_[std::stoull(std::string(request))], options_, 1));
  };
  pool_ = std::make_unique<WorkerPool>(serve, options_.jobs, *options_.isolation);
}

RunResults NightHunter::hunt(std::size_t begin, std::size_t end) {
  RunResults results;
  if (pool_) return hunt_isolated(begin, end);
  for (std::size_t i = begin; i < end; ++i) results.merge(hunt_one(targets_[i], options_, options_.jobs));
  return results;
}

bool NightHunter::given_up(KernelId kernel) const {
  const auto found = deaths_.find(kernel);
  return found != deaths_.end() && found->second >= kDeathsUntilGivenUp;
}

RunResults NightHunter::hunt_isolated(std::size_t begin, std::size_t end) {
  std::vector<WorkerTask> tasks;
  std::vector<std::size_t> target_of_task;
  const auto restarts = static_cast<unsigned>(
      std::min<std::uint64_t>(options_.evaluations / kIslandEvaluations, std::numeric_limits<unsigned>::max()));
  for (std::size_t i = begin; i < end; ++i) {
    if (given_up(targets_[i].kernel)) continue;
    tasks.push_back({static_cast<std::size_t>(targets_[i].kernel), std::to_string(i), restarts});
    target_of_task.push_back(i);
  }
  const std::vector<WorkerAnswer> answers = pool_->run(tasks, kDeathsUntilGivenUp);
  RunResults results;
  for (std::size_t t = 0; t < answers.size(); ++t) {
    const HuntTarget& target = targets_[target_of_task[t]];
    // Workers may have gone on behind the last death of a kernel; what they found is not kept, so that the results do
    // not depend on the number of jobs.
    if (given_up(target.kernel)) continue;
    if (answers[t].death.empty()) {
      results.merge(results_from_wire(answers[t].reply));
      continue;
    }
    ++deaths_[target.kernel];
    results.merge(dead_hunt(target, answers[t]));
  }
  return results;
}

}  // namespace lsecheck
