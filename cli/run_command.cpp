#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/run_execution.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "cli/waiver_choice.h"
#include "properties/case_draw.h"
#include "properties/detectors.h"
#include "properties/distribution.h"
#include "properties/law_frozen.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/whole_file.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/run_summary.h"

namespace lsecheck::cli {
namespace {

struct RunCommandOptions {
  CaseRunOptions cases;
  StoreChoice store;
  WaiverChoice waivers;
  std::string json;
  std::string junit;
  std::string failures = "lsecheck-results";
  std::string detectors;
  std::uint64_t stop_after = 0;
  std::string update_frozen;
  std::string update_distribution;
};

// Records what law frozen_digest compares with, of every kernel; runs no case of the sequence.
void update_frozen(const std::string& path) {
  FrozenRows rows;
  for (const KernelId kernel : kernels_matching("*")) rows.merge(measure_frozen(kernel, FrozenErrors::measure));
  const FrozenRows& before = recorded_frozen_rows();
  write_file_atomically(path, frozen_text(rows));
  const std::string changes = frozen_changes(before, rows, rows.size() + before.size());
  fmt::print("{}: {} rows; against those of this program:\n{}\n", path, rows.size(),
             changes.empty() ? "nothing changed" : changes);
}

void run(const RunCommandOptions& options) {
  if (!options.update_frozen.empty()) update_frozen(options.update_frozen);
  if (!options.update_distribution.empty()) {
    write_file_atomically(options.update_distribution, distribution_text(measure_record(kFrozenSeed)));
  }
  if (!options.update_frozen.empty() || !options.update_distribution.empty()) return;
  if (options.store.resume && options.store.path.empty()) {
    throw CLI::ValidationError("--resume", "names no store; add --db FILE");
  }
  const auto plugin =
      options.cases.plugin.empty() ? nullptr : std::make_unique<const LoadedPlugin>(options.cases.plugin);
  const Waivers waivers = load_waivers(options.waivers);
  PreparedRun prepared = prepare_run(options.cases, options.failures);
  prepared.config.known = [&](const Failure& failure) { return waivers.cover(failure); };
  if (options.stop_after > 0) prepared.config.max_failures = options.stop_after;
  DetectorLog detectors;
  if (!options.detectors.empty()) {
    prepared.config.isolation.reset();
    prepared.config.on_measured = [&](std::uint64_t index, const CaseTensors& tensors,
                                      const AccuracyMeasurement& measured) { detectors.add(index, tensors, measured); };
  }
  // An unwritable report is found out before the work, not after it.
  for (const std::string& file : {options.json, options.junit, options.detectors}) {
    if (!file.empty()) check_file_writable(file);
  }
  ExecutedRun done = execute_run(prepared, options.store, {});
  waivers.judge(done.run);
  print_terminal_report(done.run);
  if (!options.json.empty()) write_file_atomically(options.json, results_text(done.run));
  if (!options.detectors.empty()) write_file_atomically(options.detectors, detectors_text(detectors));
  if (!options.junit.empty()) write_file_atomically(options.junit, junit_report(done.run));
  if (done.device_failed) leave_after_device_failure();
  if (verdict_of(done.run) == Verdict::failed) throw ExitWith{kFailed};
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "draw cases, hold every law against them, report the worst errors");
  const auto options = std::make_shared<RunCommandOptions>();
  add_case_run_options(*command, options->cases);
  add_waiver_options(*command, options->waivers);
  command->add_option("--profile", options->cases.profile, "how many cases, when --cases does not say: see below")
      ->check(CLI::IsMember({"smoke", "nightly", "soak"}))
      ->capture_default_str();
  command->add_option("--db", options->store.path, "keep the results in this store, batch by batch")->type_name("FILE");
  command->add_flag("--resume", options->store.resume, "go on with the store of --db where it stopped");
  command->add_option("--json", options->json, "write the results as JSON")->type_name("FILE");
  command->add_option("--junit", options->junit, "write the laws as JUnit XML, a test case for each kernel and law")
      ->type_name("FILE");
  command->add_option("--failures", options->failures, "folder for shrunk failing cases")
      ->type_name("DIR")
      ->capture_default_str();
  command
      ->add_option("--stop-after", options->stop_after,
                   "end at the batch of 64 cases that brings this many failures (default: 20), and shrink no more")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command
      ->add_option("--detectors", options->detectors,
                   "write which cases the usual tolerances would have flagged: torch's assert_close, allclose at "
                   "1e-2 and 1e-3, twice the error of a cast")
      ->type_name("FILE");
  command
      ->add_option("--update-frozen", options->update_frozen,
                   "run the frozen cases of every kernel instead, and record their output bits in this file: "
                   "properties/frozen/cpu.txt, for the next build")
      ->type_name("FILE");
  command
      ->add_option("--update-distribution", options->update_distribution,
                   "measure and record the distribution of errors of every kernel in this file instead: "
                   "properties/frozen/distribution.txt, for the next build")
      ->type_name("FILE");
  add_plugin_option(*command, options->cases.plugin);
  command->footer(
      std::string(kProfileHelp) +
      "\nexamples:\n  lsecheck run --profile smoke\n  lsecheck run --sfu spec --schedule random --seed date "
      "--time 30m --db night.db\n"
      "  lsecheck run --law accuracy --arch sm_103a --cases 10000 --json results.json\n"
      "  lsecheck run --profile nightly --shard 2/8 --db shard2.db\n"
      "  lsecheck run --plugin ./libmine.so");
  command->callback([options] { run(*options); });
}

}  // namespace lsecheck::cli
