#include "cli/laws_of_run.h"

#include <fmt/format.h>

#include <future>
#include <string>
#include <vector>

#include "kernels/sfu/sfu.h"
#include "properties/distribution.h"
#include "properties/kernel_death.h"
#include "properties/law_frozen.h"
#include "properties/results_wire.h"
#include "properties/run_case.h"
#include "properties/worker_pool.h"

namespace lsecheck::cli {
namespace {

// A shorter run is for a look at some cases, which these laws would outlast.
constexpr std::uint64_t kCasesForLawsOfRun = 20'000;
// They run some thousand cases where a task of the pool is one.
constexpr unsigned kPatience = 10;

struct DueLaws {
  KernelId kernel = KernelId::fa4_splitk_combine;
  bool frozen = false;
  bool distribution = false;
};

std::string law_name(LawId law) {
  return std::string(find_law(static_cast<std::uint8_t>(law))->name);
}

std::vector<DueLaws> due_laws(const RunConfig& config, const RunResults& before) {
  std::vector<DueLaws> due;
  const std::vector<KernelId>& kernels = config.limits.kernels;
  for (std::size_t i = config.shard.index; i < kernels.size(); i += config.shard.count) {
    const auto asked = [&](LawId law) {
      return asks_for_law(config.law_glob, law) &&
             !before.laws.contains({std::string(name_of(kernels[i])), law_name(law)});
    };
    due.push_back({kernels[i], asked(LawId::frozen_digest), asked(LawId::distribution)});
  }
  return due;
}

RunResults results_of(const DueLaws& due, std::uint64_t seed) {
  RunResults results;
  if (due.frozen) results.merge(check_frozen_kernel(due.kernel, recorded_frozen_rows()));
  if (due.distribution) results.merge(check_distribution_of_kernel(due.kernel, seed, recorded_distribution()));
  return results;
}

// What a kernel leaves whose process died: one failure of the law that was due.
RunResults lost_kernel(const DueLaws& due, const WorkerAnswer& answer) {
  const std::string law = law_name(due.frozen ? LawId::frozen_digest : LawId::distribution);
  const std::string kernel(name_of(due.kernel));
  RunResults results;
  results.totals.failures = 1;
  results.laws[{kernel, law}] = {1, 0, 1};
  Failure failure;
  failure.kernel = kernel;
  failure.law = law;
  failure.message = fmt::format("{}; lsecheck run --kernel {} --law {} repeats it", kernel_death(answer), kernel, law);
  results.failures.push_back(std::move(failure));
  return results;
}

RunResults hold_isolated(const RunConfig& config, const std::vector<DueLaws>& due) {
  WorkerPool pool(
      [&](std::string_view request, const WorkerPool::Mark&) {
        return to_wire(results_of(due[std::stoul(std::string(request))], config.seed));
      },
      config.jobs, config.isolation.value());
  std::vector<WorkerTask> tasks;
  for (std::size_t i = 0; i < due.size(); ++i) tasks.push_back({i, std::to_string(i), kPatience});
  const std::vector<WorkerAnswer> answers = pool.run(tasks, 1);
  RunResults results;
  for (std::size_t i = 0; i < due.size(); ++i) {
    results.merge(answers[i].death.empty() ? results_from_wire(answers[i].reply) : lost_kernel(due[i], answers[i]));
  }
  return results;
}

RunResults hold_on_threads(const RunConfig& config, const std::vector<DueLaws>& due) {
  const auto how = config.jobs > 1 ? std::launch::async : std::launch::deferred;
  std::vector<std::future<RunResults>> kernels;
  kernels.reserve(due.size());
  for (const DueLaws& one : due) kernels.push_back(std::async(how, [&] { return results_of(one, config.seed); }));
  RunResults results;
  for (auto& kernel : kernels) results.merge(kernel.get());
  return results;
}

}  // namespace

RunResults hold_laws_of_run(const RunConfig& config, const RunResults& before) {
  if (backend_in_use() != Backend::cpu || config.limits.unit != sfu::UnitKind::h200) return {};
  const bool alone = matching_laws(config.law_glob).empty();
  if (!alone && config.cases < kCasesForLawsOfRun) return {};
  std::vector<DueLaws> due = due_laws(config, before);
  std::erase_if(due, [](const DueLaws& one) { return !one.frozen && !one.distribution; });
  return config.isolation ? hold_isolated(config, due) : hold_on_threads(config, due);
}

}  // namespace lsecheck::cli
