#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
#include "cli/waiver_choice.h"
#include "properties/replay_case.h"
#include "properties/whole_file.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/markdown_report.h"
#include "reports/run_summary.h"
#include "reports/terminal_report.h"

namespace lsecheck::cli {
namespace {

struct NightlyOptions {
  CaseRunOptions cases;
  WaiverChoice waivers;
  std::string out = "lsecheck-nightly";
  std::string failures;  // empty: nothing is replayed
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

void write_reports(const StoredRun& run, const std::string& folder) {
  const std::vector<std::string> gaps = coverage_gaps(run);
  write_file_atomically(folder + "/results.json", results_text(run));
  write_file_atomically(folder + "/junit.xml", junit_report(run));
  write_file_atomically(folder + "/report.md", markdown_report(run, gaps));
  write_file_atomically(folder + "/report.html", html_report(run, gaps));
}

void nightly(NightlyOptions options) {
  // With a time budget alone, time ends the sequence and not its length.
  options.cases.profile = !options.cases.time.empty() && options.cases.cases == 0 ? "soak" : "nightly";
  const std::vector<std::string> files = old_failures(options.failures);
  const Waivers waivers = load_waivers(options.waivers);
  PreparedRun prepared = prepare_run(options.cases, options.out + "/failures");
  prepared.config.known = [&](const Failure& failure) { return waivers.cover(failure); };
  create_folder(options.out);
  ExecutedRun done = execute_run(prepared, {options.out + "/run.db", options.resume}, files);
  waivers.judge(done.run);
  write_reports(done.run, options.out);
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
  add_waiver_options(*command, options->waivers);
  command->add_option("--failures", options->failures, "folder of case files of earlier failures, replayed first")
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
      "  lsecheck nightly --time 30m --failures known-failures --out night\n"
      "  lsecheck nightly --cases 200000 --seed 20261130 --out again\n"
      "  lsecheck nightly --shard 2/8 --seed 20261130 --out night2; lsecheck merge --into all.db night*/run.db");
  command->callback([options] { nightly(*options); });
}

}  // namespace lsecheck::cli
