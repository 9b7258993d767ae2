#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/coverage_gaps.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/run_execution.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "properties/replay_case.h"
#include "properties/whole_file.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/markdown_report.h"
#include "reports/night_history.h"
#include "reports/read_run.h"
#include "reports/run_summary.h"
#include "reports/terminal_report.h"

namespace lsecheck::cli {
namespace {

struct NightlyOptions {
  CaseRunOptions cases;
  std::string out = "lsecheck-nightly";
  std::string failures;  // empty: nothing is replayed
  std::string history;   // empty: the reports know of no other night
  bool resume = false;
};

void create_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw FileError(FileErrorKind::environment, path, "cannot create the folder: " + error.message());
}

std::vector<std::string> old_failures(const std::string& folder) {
  if (folder.empty()) return {};
  try {
    return case_files_in(folder);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--failures", error.what());
  }
}

// The nights in the sub-folders of `folder`, by name, and this one last. One that cannot be read is named and left out:
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

void write_reports(const StoredRun& run, const std::vector<Night>& nights, const std::string& folder) {
  const std::vector<std::string> gaps = coverage_gaps(run);
  write_file_atomically(folder + "/results.json", results_text(run));
  write_file_atomically(folder + "/junit.xml", junit_report(run));
  write_file_atomically(folder + "/report.md", markdown_report(run, gaps, nights));
  write_file_atomically(folder + "/report.html", html_report(run, gaps, nights));
}

void nightly(NightlyOptions options) {
  // With a time budget alone, time ends the sequence and not its length.
  options.cases.profile = !options.cases.time.empty() && options.cases.cases == 0 ? "soak" : "nightly";
  const std::vector<std::string> files = old_failures(options.failures);
  if (!options.history.empty() && !std::filesystem::is_directory(options.history)) {
    throw CLI::ValidationError("--history", fmt::format("there is no folder '{}'", options.history));
  }
  const PreparedRun prepared = prepare_run(options.cases, options.out + "/failures");
  create_folder(options.out);
  const ExecutedRun done = execute_run(prepared, {options.out + "/run.db", options.resume}, files);
  std::vector<Night> nights = nights_in(options.history, options.out + "/run.db");
  nights.push_back(night_of(done.run, options.out + "/run.db"));
  write_reports(done.run, nights, options.out);
  TerminalOptions shown;
  shown.not_covered = coverage_gaps(done.run);
  shown.colour = standard_output_wants_colour();
  const std::string text = terminal_report(done.run, shown);
  std::fwrite(text.data(), 1, text.size(), stdout);
  fmt::print("Reports: {}/report.html, report.md, junit.xml, results.json, run.db\n", options.out);
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
  command->add_option("--failures", options->failures, "folder of case files of earlier failures, replayed first")
      ->type_name("DIR");
  command->add_option("--history", options->history, "folder of earlier nights' --out folders, shown in the reports")
      ->type_name("DIR");
  command->add_option("--out", options->out, "folder for the store, the reports and new failing cases")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--resume", options->resume, "go on with the store in --out where it stopped");
  command->footer(
      "The seed is today's UTC date, resolved once, printed and stored as a number: the same night can be run again "
      "with --seed. Without --cases and --time it runs the 200000 cases of profile nightly; with --time alone it runs "
      "until then, stops at a batch boundary and stores how far it came.\n"
      "In --out: run.db, results.json, junit.xml, report.md (under 1 MiB), report.html, failures/*.safetensors. A "
      "replayed failure that still fails, or whose file cannot be read, fails the night.\n" +
      std::string(kProfileHelp) +
      "\nexamples:\n"
      "  lsecheck nightly --time 30m --failures known-failures --history nights --out nights/20261130\n"
      "  lsecheck nightly --cases 200000 --seed 20261130 --out again\n"
      "  lsecheck nightly --shard 2/8 --seed 20261130 --out night2; lsecheck merge --into all.db night*/run.db");
  command->callback([options] { nightly(*options); });
}

}  // namespace lsecheck::cli
