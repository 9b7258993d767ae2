#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

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

Baseline read_baseline(const std::string& file) {
  const std::string content = read_whole_text(file);
  return content.starts_with(kBaselineHeader) ? parse_baseline(content, file) : baseline_of(read_run(file));
}

void compare(const CompareOptions& options) {
  const Comparison comparison = compare_runs(read_baseline(options.old_file), read_baseline(options.new_file));
  fmt::print("{}", comparison_text(comparison));
  const bool fails =
      (options.fail_on == "worse" && comparison.worse()) || (options.fail_on == "changed" && comparison.changed());
  if (fails) throw ExitWith{kFailed};
}

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("compare", "BETTER, SAME, WORSE, NEW or GONE for each variant and LSE regime, and each law");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("OLD", options->old_file, "a store (--db), results JSON (--json) or baseline text")->required();
  command->add_option("NEW", options->new_file, "the same, of the run in question")->required();
  command
      ->add_option("--fail-on", options->fail_on,
                   "exit with 1 when a line is WORSE, or (changed) not SAME or with another output bit")
      ->check(CLI::IsMember({"nothing", "worse", "changed"}))
      ->capture_default_str();
  command->footer(
      "WORSE: a largest bound_use or scaled_ulp grew, or a law failed more often. On the same seed and cases that is "
      "the kernel; on others it may be chance, and the output says so.\n"
      "exit codes: 0 compared; 1 what --fail-on names was found; 2 a file cannot be read\n"
      "examples:\n"
      "  lsecheck compare old.db new.db --fail-on worse\n"
      "  lsecheck report run.db --format baseline --out reports/baselines/smoke-cpu.txt\n"
      "  lsecheck compare reports/baselines/smoke-cpu.txt new.db --fail-on changed");
  command->callback([options] { compare(*options); });
}

}  // namespace lsecheck::cli
