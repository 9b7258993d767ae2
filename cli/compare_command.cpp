#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <variant>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "properties/whole_file.h"
#include "reports/baseline.h"
#include "reports/compare_runs.h"
#include "reports/read_run.h"

namespace lsecheck::cli {
namespace {

struct CompareOptions {
  std::string old_file;
  std::string new_file;
  std::string fail_on = "nothing";
};

// The text of a baseline, or a whole run.
using Compared = std::variant<Baseline, StoredRun>;

Compared read_compared(const std::string& file) {
  const std::string content = read_whole_text(file);
  if (content.starts_with(kBaselineHeader)) return parse_baseline(content, file);
  return read_run(file);
}

Baseline baseline_in(const Compared& file) {
  const auto* run = std::get_if<StoredRun>(&file);
  return run != nullptr ? baseline_of(*run) : std::get<Baseline>(file);
}

Comparison compare_files(const Compared& old_file, const Compared& new_file) {
  const auto* old_run = std::get_if<StoredRun>(&old_file);
  const auto* new_run = std::get_if<StoredRun>(&new_file);
  if (old_run != nullptr && new_run != nullptr) return compare_runs(*old_run, *new_run);
  return compare_runs(baseline_in(old_file), baseline_in(new_file));
}

void compare(const CompareOptions& options) {
  const Comparison comparison = compare_files(read_compared(options.old_file), read_compared(options.new_file));
  fmt::print("{}", comparison_text(comparison));
  const bool fails =
      (options.fail_on == "worse" && comparison.worse()) || (options.fail_on == "changed" && comparison.changed());
  if (fails) throw ExitWith{kFailed};
}

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "BETTER, SAME, WORSE, NEW or GONE for each variant and LSE regime, each law and each target hunted");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("OLD", options->old_file, "a store (--db), results JSON (--json) or baseline text")->required();
  command->add_option("NEW", options->new_file, "the same, of the run in question")->required();
  command
      ->add_option(
          "--fail-on", options->fail_on,
          "exit with 1 when a line is WORSE, or (changed) not SAME or with another output bit or find of a hunt")
      ->check(CLI::IsMember({"nothing", "worse", "changed"}))
      ->capture_default_str();
  command->footer(
      "WORSE: a largest bound_use or scaled_ulp grew, or a law failed more often. On the same seed and cases that is "
      "the kernel; on others it may be chance, and the output says so.\n"
      "Targets that both runs hunted are compared by their largest bound_use, those of one run alone are counted. A "
      "baseline holds no hunts.\n"
      "exit codes: 0 compared; 1 what --fail-on names was found; 2 a file cannot be read\n"
      "examples:\n"
      "  lsecheck compare old.db new.db --fail-on worse\n"
      "  lsecheck report run.db --format baseline --out reports/baselines/smoke-cpu.txt\n"
      "  lsecheck compare reports/baselines/smoke-cpu.txt new.db --fail-on changed");
  command->callback([options] { compare(*options); });
}

}  // namespace lsecheck::cli
