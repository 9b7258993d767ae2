#include "cli/run_execution.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <future>

#include "cli/cuda_device.h"
#include "cli/progress_line.h"
#include "fuzz/committed_worst.h"
#include "properties/distribution.h"
#include "properties/law_frozen.h"
#include "properties/replay_case.h"
#include "properties/run_case.h"
#include "reports/result_store.h"

namespace lsecheck::cli {
namespace {

// Keeps the results of a run without a store.
class MemorySink final : public ResultSink {
 public:
  explicit MemorySink(StoredRun& run) : run_(run) {}
  void commit(const RunResults& batch, std::uint64_t next_case_index) override {
    run_.results.merge(batch);
    run_.next_case_index = next_case_index;
  }

 private:
  StoredRun& run_;
};

// Old failures come before new cases: whoever looks at the run early sees them. One batch, which runs no case of the
// sequence. Files that the store knows already are not run again.
void replay_failures(const PreparedRun& prepared, const std::vector<std::string>& files, const StoredRun& before,
                     ResultSink& sink) {
  RunResults batch;
  const Shard& shard = prepared.config.shard;
  const std::unique_ptr<Reference> reference = make_reference(prepared.config.reference);
  for (std::size_t i = shard.index; i < files.size(); i += shard.count) {
    if (before.results.replays.contains(files[i])) continue;
    batch.replays[files[i]] = replay_case_file(files[i], prepared.memory_limit, *reference);
  }
  if (!batch.replays.empty()) sink.commit(batch, before.next_case_index);
}

// The hunter's finds come first: what ever was worst is looked at in every run on the CPU that holds accuracy. A shard
// takes its share of them.
void replay_worst(const PreparedRun& prepared, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  const bool accuracy = asks_for_law(config.law_glob, LawId::accuracy);
  const bool anew = config.first_case == 0 && config.earlier_failures == 0;
  if (!accuracy || !anew || backend_in_use() != Backend::cpu) return;
  const std::vector<WorstCase> all = committed_worst_cases();
  std::vector<WorstCase> mine;
  for (std::size_t i = config.shard.index; i < all.size(); i += config.shard.count) mine.push_back(all[i]);
  const RunResults worst = replay_worst_cases(mine, config.limits.kernels, config.failure_directory).results;
  if (!worst.failures.empty()) sink.commit(worst, 0);
}

// A shorter run is for a look at some cases, which these laws would outlast.
constexpr std::uint64_t kCasesForLawsOfRun = 20'000;

// The laws of the whole run, on cases of their own. A shard takes its share of the kernels. Their bits are those of the
// executor with the measured unit.
void hold_laws_of_run(const PreparedRun& prepared, const StoredRun& before, std::uint64_t next_case_index,
                      ResultSink& sink) {
  const RunConfig& config = prepared.config;
  const DrawLimits& limits = config.limits;
  if (backend_in_use() != Backend::cpu || limits.unit != sfu::UnitKind::h200) return;
  const bool alone = matching_laws(config.law_glob).empty();
  if (!alone && config.cases < kCasesForLawsOfRun) return;
  std::vector<std::future<RunResults>> kernels;
  for (std::size_t i = config.shard.index; i < limits.kernels.size(); i += config.shard.count) {
    const KernelId kernel = limits.kernels[i];
    const auto due = [&](LawId law) {
      const std::string name(find_law(static_cast<std::uint8_t>(law))->name);
      return asks_for_law(config.law_glob, law) && !before.results.laws.contains({std::string(name_of(kernel)), name});
    };
    const bool frozen = due(LawId::frozen_digest);
    const bool distribution = due(LawId::distribution);
    kernels.push_back(std::async(config.jobs > 1 ? std::launch::async : std::launch::deferred, [=, &config] {
      RunResults results;
      if (frozen) results.merge(check_frozen_kernel(kernel, recorded_frozen_rows()));
      if (distribution) {
        results.merge(check_distribution_of_kernel(kernel, config.seed, recorded_distribution()));
      }
      return results;
    }));
  }
  RunResults batch;
  for (auto& kernel : kernels) batch.merge(kernel.get());
  if (!batch.laws.empty()) sink.commit(batch, next_case_index);
}

}  // namespace

ExecutedRun execute_run(PreparedRun prepared, const StoreChoice& choice, const std::vector<std::string>& old_failures) {
  RunConfig& config = prepared.config;
  ExecutedRun executed;
  StoredRun& run = executed.run;
  run.context = prepared.context;
  std::optional<ResultStore> store;
  if (!choice.path.empty()) {
    store =
        choice.resume ? ResultStore::resume(choice.path, run.context) : ResultStore::create(choice.path, run.context);
    run = store->load();
    config.first_case = run.next_case_index;
    config.earlier_failures = run.results.totals.failures;
  }
  MemorySink memory(run);
  ResultSink& sink = store ? static_cast<ResultSink&>(*store) : memory;
  ProgressLine line;
  const auto started = std::chrono::steady_clock::now();
  RunEnd end = RunEnd::out_of_time;
  const StoredRun before = run;
  std::uint64_t next_case_index = config.first_case;
  try {
    replay_failures(prepared, old_failures, before, sink);
    replay_worst(prepared, sink);
    end = run_cases(config, sink, [&](const RunProgress& progress) {
      next_case_index = progress.next_case;
      if (!line.due()) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      line.show(fmt::format("{} / {} cases, {} failures, {:.0f} cases/s", progress.next_case, config.cases,
                            progress.failures, static_cast<double>(progress.cases) / seconds));
    });
    if (end != RunEnd::too_many_failures) hold_laws_of_run(prepared, before, next_case_index, sink);
  } catch (const cuda::DeviceError& error) {
    line.end();
    fmt::print(stderr, "lsecheck: stopped by the device, what was computed before is kept: {}{}{}\n", error.what(),
               config.jobs > 1 ? " or another of those that ran beside it (--jobs 1 tells)" : "", remedy_of(error));
    executed.device_failed = true;
  }
  line.end();
  run.finished = end == RunEnd::finished;
  if (end == RunEnd::too_many_failures) {
    fmt::print(stderr, "lsecheck: stopped after {} failures, at the end of their batch\n", config.max_failures);
  }
  if (!store) return executed;
  if (run.finished) store->finish();
  run = store->load();
  return executed;
}

}  // namespace lsecheck::cli
