#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/coverage_gaps.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/run_execution.h"
#include "cli/run_options.h"
#include "cli/shard_choice.h"
#include "cli/shard_processes.h"
#include "cli/terminal.h"
#include "cli/waiver_choice.h"
#include "fuzz/combine_corpus.h"
#include "fuzz/hunt_island.h"
#include "fuzz/night_hunt.h"
#include "properties/replay_case.h"
#include "properties/whole_file.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/markdown_report.h"
#include "reports/merge_shards.h"
#include "reports/mutants_report.h"
#include "reports/night_history.h"
#include "reports/read_run.h"
#include "reports/run_summary.h"

namespace lsecheck::cli {
namespace {

struct NightlyOptions {
  CaseRunOptions cases;
  WaiverChoice waivers;
  std::string out = "lsecheck-nightly";
  std::string failures;  // empty: no old failure is replayed
  std::string corpus;    // empty: no input of a corpus
  std::optional<std::uint64_t> hunt;
  std::string devices;  // empty: this process does it all
  std::string history;  // empty: the reports know of no other night
  std::string mutants;  // empty: nor of planted bugs
  bool resume = false;
};

void create_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw FileError(FileErrorKind::environment, path, "cannot create the folder: " + error.message());
}

// The files that `list` finds in the folder of an option; none where the option is not given.
template <class List>
std::vector<std::string> listed(const char* option, const std::string& folder, const List& list) {
  if (folder.empty()) return {};
  try {
    return list(folder);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError(option, error.what());
  }
}

KeptCases kept_cases(const NightlyOptions& options) {
  return {listed("--failures", options.failures,
                 [](const std::string& folder) { return files_in(folder, ".safetensors"); }),
          listed("--corpus", options.corpus, corpus_inputs)};
}

// From here on a night is long enough for hunts that nobody asked for: they add 6 % to its time.
constexpr std::uint64_t kCasesForHunts = 200'000;

// Row-heads for each target of the hunts.
std::uint64_t hunt_evaluations(const NightlyOptions& options, const RunConfig& config) {
  const bool accuracy = asks_for_law(config.law_glob, LawId::accuracy);
  const bool cpu = options.cases.backend == "cpu";
  if (!options.hunt) return cpu && accuracy && config.cases >= kCasesForHunts ? kIslandEvaluations : 0;
  if (*options.hunt > 0 && !cpu) throw CLI::ValidationError("--hunt", "the hunter runs on the CPU; use --backend cpu");
  if (*options.hunt > 0 && !accuracy)
    throw CLI::ValidationError("--hunt", "holds law accuracy, which --law leaves out");
  return whole_restarts(*options.hunt);
}

PreparedRun prepare_night(const NightlyOptions& options) {
  PreparedRun prepared = prepare_run(options.cases, options.out + "/failures");
  prepared.context.hunt_evaluations = hunt_evaluations(options, prepared.config);
  return prepared;
}

// The nights in the sub-folders of `folder`, by name, without this one. One that cannot be read is named and left out:
// a damaged night must not cost this one's reports.
std::vector<Night> nights_in(const std::string& folder, const std::string& own_store) {
  std::vector<Night> nights;
  if (folder.empty()) return nights;
  std::vector<std::filesystem::path> stores;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path store = entry.path() / "run.db";
    std::error_code missing;
    if (!std::filesystem::exists(store, missing) || std::filesystem::equivalent(store, own_store, missing)) continue;
    stores.push_back(store);
  }
  std::sort(stores.begin(), stores.end());
  for (const auto& store : stores) {
    try {
      nights.push_back(night_of(read_run(store), store.string()));
    } catch (const std::exception& error) {
      fmt::print(stderr, "lsecheck: left out of the history: {}\n", error.what());
    }
  }
  return nights;
}

// Besides the night itself.
struct Surroundings {
  Waivers waivers;
  std::optional<MutantsReport> mutants;
};

// Read before the first case: what is broken must not cost a night.
Surroundings surroundings_of(const NightlyOptions& options) {
  Surroundings around{load_waivers(options.waivers), std::nullopt};
  if (!options.mutants.empty()) around.mutants = read_mutants(options.mutants);
  return around;
}

void write_reports(const StoredRun& run, const std::vector<Night>& nights, const Surroundings& around,
                   const std::string& folder) {
  const std::vector<std::string> gaps = coverage_gaps(run);
  write_file_atomically(folder + "/results.json", results_text(run));
  write_file_atomically(folder + "/junit.xml", junit_report(run));
  write_file_atomically(folder + "/report.md", markdown_report(run, gaps, nights, around.mutants));
  write_file_atomically(folder + "/report.html", html_report(run, gaps, nights, around.mutants));
}

// Everything that follows from the run, whoever ran it.
void show(StoredRun& run, const Surroundings& around, const NightlyOptions& options) {
  around.waivers.judge(run);
  std::vector<Night> nights = nights_in(options.history, options.out + "/run.db");
  nights.push_back(night_of(run, options.out + "/run.db"));
  write_reports(run, nights, around, options.out);
  print_terminal_report(run);
  fmt::print("Reports: {}/report.html, report.md, junit.xml, results.json, run.db\n", options.out);
}

unsigned process_count(const std::string& devices, const std::string& backend) {
  unsigned count = 0;
  const auto [end, error] = std::from_chars(devices.data(), devices.data() + devices.size(), count);
  const bool is_number = error == std::errc{} && end == devices.data() + devices.size() && count >= 1 && count <= 1024;
  if (backend == "cpu") {
    if (is_number) return count;
    throw CLI::ValidationError("--devices",
                               fmt::format("'{}': with --backend cpu a number of processes, 1 to 1024", devices));
  }
  const auto visible = static_cast<unsigned>(cuda_device_or_exit("--backend cuda").visible_devices);
  if (devices == "all") return visible;
  if (is_number && count <= visible) return count;
  throw CLI::ValidationError(
      "--devices", fmt::format("'{}' is neither 'all' nor a number up to the {} visible GPUs", devices, visible));
}

// The ends that are not a verdict, told; the exit code of the worst, kClean where there is none.
int told_troubles(const std::vector<ChildEnd>& ends, const std::string& out) {
  int worst = kClean;
  for (unsigned i = 0; i < ends.size(); ++i) {
    const int code = ends[i].exit_code;
    if (code == kClean || code == kFailed) continue;
    fmt::print(stderr, "lsecheck: shard {} ended with {}: see {}.log\n", i + 1, ends[i].text(), shard_folder(out, i));
    worst = std::max(worst, code == kUsage ? kUsage : kEnvironment);
  }
  return worst;
}

void nightly_on_devices(const NightlyOptions& options, const CLI::App& command) {
  if (!choose_shard(options.cases.shard, environment_variable).source.empty()) {
    throw CLI::ValidationError("--devices", "shards the night itself; it cannot be a shard of another one");
  }
  const unsigned count = process_count(options.devices, options.cases.backend);
  const Surroundings around = surroundings_of(options);
  if (!options.resume && std::filesystem::exists(shard_folder(options.out, 0) + "/run.db")) {
    throw FileError(FileErrorKind::unreadable, shard_folder(options.out, 0) + "/run.db",
                    "exists already; add --resume, or choose another --out");
  }
  // What this refuses every shard would refuse; and the seed is resolved once: processes that start on both
  // sides of midnight must draw from one sequence.
  const std::uint64_t seed = prepare_night(options).config.seed;
  ShardProcesses processes{
      given_arguments(command, {"--devices", "--out", "--resume", "--history", "--mutants", "--seed"}), count,
      options.cases.backend == "cuda", options.out};
  processes.arguments.insert(processes.arguments.end(), {"--seed", std::to_string(seed)});
  fmt::print(stderr, "lsecheck: {} processes, seed {}; what each prints is in {}/shard-*.log\n", count, seed,
             options.out);
  const int trouble = told_troubles(run_shard_processes(processes), options.out);
  std::vector<std::string> stores;
  for (unsigned i = 0; i < count; ++i) stores.push_back(shard_folder(options.out, i) + "/run.db");
  // What the shards stored stays where it is; without all of their stores there is no merge.
  const auto missing = [](const std::string& store) { return !std::filesystem::exists(store); };
  if (std::any_of(stores.begin(), stores.end(), missing)) throw ExitWith{trouble};
  // Made anew: a resumed night has a merged store already.
  std::filesystem::remove(options.out + "/run.db");
  StoredRun run = merge_shards_into(options.out + "/run.db", stores);
  show(run, around, options);
  if (trouble != kClean) throw ExitWith{trouble};
  if (verdict_of(run) == Verdict::failed) throw ExitWith{kFailed};
}

void nightly(NightlyOptions options, const CLI::App& command) {
  create_folder(options.out);  // of the first night it makes the folder of --history, too
  if (!options.history.empty() && !std::filesystem::is_directory(options.history)) {
    throw CLI::ValidationError("--history", fmt::format("there is no folder '{}'", options.history));
  }
  // With a time budget alone, time ends the sequence and not its length.
  options.cases.profile = !options.cases.time.empty() && options.cases.cases == 0 ? "soak" : "nightly";
  if (!options.devices.empty()) return nightly_on_devices(options, command);
  const KeptCases kept = kept_cases(options);
  const Surroundings around = surroundings_of(options);
  PreparedRun prepared = prepare_night(options);
  prepared.config.known = [&](const Failure& failure) { return around.waivers.cover(failure); };
  ExecutedRun done = execute_run(prepared, {options.out + "/run.db", options.resume}, kept);
  show(done.run, around, options);
  if (done.device_failed) leave_after_device_failure();
  if (verdict_of(done.run) == Verdict::failed) throw ExitWith{kFailed};
}

}  // namespace

void add_nightly_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("nightly", "run the day's cases, old failures first, and write every report into one folder");
  const auto options = std::make_shared<NightlyOptions>();
  options->cases.seed = "date";
  add_case_run_options(*command, options->cases);
  add_waiver_options(*command, options->waivers);
  command->add_option("--failures", options->failures, "folder of case files of earlier failures, replayed first")
      ->type_name("DIR")
      ->check(names_something);
  command
      ->add_option("--corpus", options->corpus,
                   "folder of kept inputs of the fuzz target combine_case (fuzz/corpus/combine_case), replayed behind "
                   "the old failures")
      ->type_name("DIR")
      ->check(names_something);
  command
      ->add_option(
          "--hunt", options->hunt,
          "row-heads to hunt with for the largest bound_use of each target (kernel, types, exponent form, regime "
          "and P), behind the cases; rounded up to whole restarts of 4096 (default: 4096 in a night of 200000 "
          "cases or more, or of --time alone, on the cpu; 0: none)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
  command
      ->add_option("--devices", options->devices,
                   "one process for each GPU (with --backend cpu: so many processes), each with a shard, merged at the "
                   "end; a process that was stopped goes on with --resume")
      ->type_name("all|N");
  command->add_option("--history", options->history, "folder of earlier nights' --out folders, shown in the reports")
      ->type_name("DIR");
  command->add_option("--mutants", options->mutants, "what `lsecheck mutants --json` wrote: the reports show the score")
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder for the store, the reports and new failing cases")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--resume", options->resume, "go on with the store in --out where it stopped");
  command->footer(
      "The seed is today's UTC date, resolved once, printed and stored as a number: the same night can be run again "
      "with --seed. Without --cases and --time it runs the 200000 cases of profile nightly; with --time alone it runs "
      "until then, stops at a batch boundary and stores how far it came.\n"
      "In --out: run.db, results.json, junit.xml, report.md (under 1 MiB), report.html, failures/*.safetensors. A "
      "kept case that fails, or whose file cannot be read, fails the night.\n"
      "What a night looks at, in this order: the old failures of --failures, each held to the law it broke; the inputs "
      "of --corpus, each decoded into its case, held to all laws of --law and made small where it fails; the worst "
      "cases that the hunter ever "
      "found "
      "(in the program, law accuracy, on the cpu); the cases of the day's seed; in nights of 20000 cases or more the "
      "laws "
      "of a whole run; the hunts of --hunt (a third of the targets, which the seed chooses: three days in a row hunt "
      "all; unit h200, chip sm_100a unless --arch names one), outside the bound being "
      "a failure of law accuracy. --time ends the cases; replays before and hunts behind them come on top. The other "
      "fuzz targets (tokens, case files, text files, result stores, dispatch) try this program's own readers, not the "
      "kernels: ctest replays their inputs.\n" +
      std::string(kProfileHelp) +
      "\nexamples:\n"
      "  lsecheck nightly --time 30m --failures known-failures --corpus fuzz/corpus/combine_case --history nights "
      "--out nights/20261130\n"
      "  lsecheck nightly --cases 200000 --seed 20261130 --out again\n"
      "  lsecheck nightly --shard 2/8 --seed 20261130 --out night2; lsecheck merge --into all.db night*/run.db");
  command->callback([options, command] { nightly(*options, *command); });
}

}  // namespace lsecheck::cli
