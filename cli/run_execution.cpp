#include "cli/run_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <variant>

#include "cli/cuda_device.h"
#include "cli/laws_of_run.h"
#include "cli/progress_line.h"
#include "fuzz/committed_worst.h"
#include "properties/replay_case.h"
#include "properties/run_case.h"
#include "properties/token.h"
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
  const RunConfig& config = prepared.config;
  std::vector<std::string> mine;
  for (std::size_t i = config.shard.index; i < files.size(); i += config.shard.count) {
    if (!before.results.replays.contains(files[i])) mine.push_back(files[i]);
  }
  const std::unique_ptr<Reference> reference = make_reference(config.reference);
  const std::vector<Replay> replays =
      config.isolation
          ? replay_case_files_isolated(mine, prepared.memory_limit, *reference, *config.isolation, config.jobs)
          : replay_case_files(mine, prepared.memory_limit, *reference);
  for (const Replay& replay : replays) batch.replays[replay.file] = replay;
  if (!batch.replays.empty()) sink.commit(batch, before.next_case_index);
}

// The hunter's finds come first: what ever was worst is looked at in every run on the CPU that holds accuracy. A shard
// takes its share of them.
void replay_worst(const PreparedRun& prepared, const StoredRun& before, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  const bool accuracy = asks_for_law(config.law_glob, LawId::accuracy);
  const bool anew = config.first_case == 0 && before.results.failures.empty();
  if (!accuracy || !anew || backend_in_use() != Backend::cpu) return;
  const std::vector<WorstCase> all = committed_worst_cases();
  std::vector<WorstCase> mine;
  for (std::size_t i = config.shard.index; i < all.size(); i += config.shard.count) mine.push_back(all[i]);
  const auto& kernels = config.limits.kernels;
  const RunResults worst =
      config.isolation
          ? replay_worst_cases_isolated(mine, kernels, config.failure_directory, *config.isolation, config.jobs).results
          : replay_worst_cases(mine, kernels, config.failure_directory).results;
  if (!worst.failures.empty()) sink.commit(worst, 0);
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
    // Known worst cases and laws of the whole run fail without a token: they are none of the sequence's.
    std::copy_if(
        run.results.failures.begin(), run.results.failures.end(), std::back_inserter(config.earlier_failures),
        [](const Failure& failure) { return std::holds_alternative<Token>(parse_token(failure.found_token)); });
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
    replay_worst(prepared, before, sink);
    end = run_cases(config, sink, [&](const RunProgress& progress) {
      next_case_index = progress.next_case;
      if (!line.due()) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      line.show(fmt::format("{} / {} cases, {} failures, {:.0f} cases/s", progress.next_case, config.cases,
                            progress.failures, static_cast<double>(progress.cases) / seconds));
    });
    if (end != RunEnd::too_many_failures) {
      const RunResults of_run = hold_laws_of_run(config, before.results);
      if (!of_run.laws.empty()) sink.commit(of_run, next_case_index);
    }
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
