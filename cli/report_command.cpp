#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/coverage_gaps.h"
#include "cli/terminal.h"
#include "properties/whole_file.h"
#include "reports/baseline.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/markdown_report.h"
#include "reports/mutants_report.h"
#include "reports/night_history.h"
#include "reports/read_run.h"
#include "reports/terminal_report.h"

namespace lsecheck::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string mutants;  // empty: the page says nothing about planted bugs
  std::string out;      // empty: standard output
  std::string format = "terminal";
};

// The run to show: the last file. All of them are its nights.
StoredRun read_runs(const std::vector<std::string>& files, std::vector<Night>& nights) {
  StoredRun run;
  for (const std::string& file : files) {
    run = read_run(file);
    nights.push_back(night_of(run, file));
  }
  return run;
}

std::string render(const StoredRun& run, const std::vector<Night>& nights, const std::optional<MutantsReport>& mutants,
                   const std::string& format, bool colour) {
  if (format == "json") return results_text(run);
  if (format == "markdown") return markdown_report(run, coverage_gaps(run), nights, mutants);
  if (format == "junit") return junit_report(run);
  if (format == "baseline") return baseline_text(baseline_of(run));
  if (format == "html") return html_report(run, coverage_gaps(run), nights, mutants);
  TerminalOptions options;
  options.not_covered = coverage_gaps(run);
  options.colour = colour;
  return terminal_report(run, options);
}

void report(const ReportOptions& options) {
  const bool to_file = !options.out.empty();
  const bool is_page = options.format == "html" || options.format == "markdown";
  if (!options.mutants.empty() && !is_page) {
    throw CLI::ValidationError("--mutants", fmt::format("is shown as html or markdown, not as {}", options.format));
  }
  if (options.files.size() > 1 && !is_page) {
    throw CLI::ValidationError("FILE",
                               fmt::format("several runs are shown as html or markdown, not as {}", options.format));
  }
  std::vector<Night> nights;
  const StoredRun run = read_runs(options.files, nights);
  std::optional<MutantsReport> mutants;
  if (!options.mutants.empty()) mutants = read_mutants(options.mutants);
  const std::string text = render(run, nights, mutants, options.format, !to_file && standard_output_wants_colour());
  if (to_file) {
    write_file_atomically(options.out, text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);  // main() looks for write errors
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "report", "show a run again from its result store or results JSON; exit code 0 whatever the run's verdict");
  const auto options = std::make_shared<ReportOptions>();
  command
      ->add_option(
          "FILE", options->files,
          "a result store (run --db) or results JSON (run --json); of several, oldest first, the last is shown "
          "with the others as the nights before it")
      ->required();
  command->add_option("--format", options->format, "how to show it")
      ->check(CLI::IsMember({"terminal", "json", "markdown", "html", "junit", "baseline"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "write to this file, whole or not at all (default: standard output)")
      ->type_name("FILE");
  command
      ->add_option("--mutants", options->mutants,
                   "what `lsecheck mutants --json` wrote: the score, in html or markdown")
      ->type_name("FILE");
  command->footer(
      "examples:\n  lsecheck report run.db\n  lsecheck report run.db --format html --out run.html\n"
      "  lsecheck report nights/*/run.db --format html --out week.html\n"
      "  lsecheck report run.db --mutants mutants.json --format html --out run.html\n"
      "  lsecheck report run.db --format baseline --out reports/baselines/smoke-cpu.txt");
  command->callback([options] { report(*options); });
}

}  // namespace lsecheck::cli
