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
#include "fuzz/combine_corpus.h"
#include "fuzz/committed_worst.h"
#include "fuzz/night_hunt.h"
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

// A shard takes its share.
template <class Items>
Items share_of(const Shard& shard, const Items& all) {
  Items mine;
  for (std::size_t i = shard.index; i < all.size(); i += shard.count) mine.push_back(all[i]);
  return mine;
}

// Kept cases come before new ones: whoever looks at the run early sees them. One batch, which runs no case of the
// sequence. Files that the store knows already are not run again.
void replay_files(const PreparedRun& prepared, const std::vector<std::string>& files, const ReplaySource& source,
                  const StoredRun& before, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  std::vector<std::string> mine = share_of(config.shard, files);
  std::erase_if(mine, [&](const std::string& file) { return before.results.replays.contains(file); });
  const std::unique_ptr<Reference> reference = make_reference(config.reference);
  const std::vector<Replay> replays =
      config.isolation ? replay_case_files_isolated(mine, source, *reference, *config.isolation, config.jobs)
                       : replay_case_files(mine, source, *reference);
  RunResults batch;
  for (const Replay& replay : replays) batch.replays[replay.file] = replay;
  if (!batch.replays.empty()) sink.commit(batch, before.next_case_index);
}

void replay_kept(const PreparedRun& prepared, const KeptCases& kept, const StoredRun& before, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  replay_files(prepared, kept.old_failures, old_failures(prepared.memory_limit), before, sink);
  if (kept.corpus_inputs.empty()) return;
  const ReplaySource corpus =
      corpus_source(config.limits.kernels, matching_laws(config.law_glob), config.failure_directory);
  replay_files(prepared, kept.corpus_inputs, corpus, before, sink);
}

// The hunter's finds come first: what ever was worst is looked at in every run on the CPU that holds accuracy. A shard
// takes its share of them.
void replay_worst(const PreparedRun& prepared, const StoredRun& before, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  const bool accuracy = asks_for_law(config.law_glob, LawId::accuracy);
  const bool anew = config.first_case == 0 && before.results.failures.empty();
  if (!accuracy || !anew || backend_in_use() != Backend::cpu) return;
  const std::vector<WorstCase> mine = share_of(config.shard, committed_worst_cases());
  const auto& kernels = config.limits.kernels;
  const RunResults worst =
      config.isolation
          ? replay_worst_cases_isolated(mine, kernels, config.failure_directory, *config.isolation, config.jobs).results
          : replay_worst_cases(mine, kernels, config.failure_directory).results;
  if (!worst.failures.empty()) sink.commit(worst, 0);
}

// Behind the cases: a night that is cut short has looked at what it draws. A shard takes its share of the targets;
// those that the store knows are not hunted again.
void hunt_at_night(const PreparedRun& prepared, const StoredRun& before, std::uint64_t next_case_index,
                   ProgressLine& line, ResultSink& sink) {
  const RunConfig& config = prepared.config;
  if (prepared.context.hunt_evaluations == 0) return;
  std::vector<HuntTarget> mine = share_of(
      config.shard, night_targets(config.limits.kernels, config.limits.arch.value_or(Arch::sm_100a), config.seed));
  std::erase_if(mine, [&](const HuntTarget& target) { return before.results.hunts.contains(key_of(target)); });
  const std::size_t count = mine.size();
  NightHunter hunter(
      {config.seed, prepared.context.hunt_evaluations, config.failure_directory, config.jobs, config.isolation},
      std::move(mine));
  // Committed together, so a kill costs no more; enough to keep the jobs busy.
  const std::size_t together = std::size_t{4} * config.jobs;
  for (std::size_t begin = 0; begin < count; begin += together) {
    if (line.due()) line.show(fmt::format("{} / {} targets hunted", begin, count));
    const RunResults batch = hunter.hunt(begin, std::min(begin + together, count));
    if (!batch.hunts.empty()) sink.commit(batch, next_case_index);
  }
}

}  // namespace

ExecutedRun execute_run(PreparedRun prepared, const StoreChoice& choice, const KeptCases& kept) {
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
    replay_kept(prepared, kept, before, sink);
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
      hunt_at_night(prepared, before, next_case_index, line, sink);
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
