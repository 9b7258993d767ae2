#pragma once

#include <CLI/CLI.hpp>

// The sub-commands. Each add_<name>_command registers one: its options, its help and a callback that does the work.
//
// How a callback ends: it returns (exit code 0); it throws ExitWith after having said why; it throws
// CLI::ValidationError for a usage error (exit code 2); any other exception becomes one line on standard error and the
// exit code of exit_codes.h.
namespace lsecheck::cli {

struct ExitWith {
  int code;
};

void add_list_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_nightly_command(CLI::App& app);
void add_repro_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_merge_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_calibrate_command(CLI::App& app);
void add_exhaustive_command(CLI::App& app);
void add_certify_command(CLI::App& app);
void add_hunt_command(CLI::App& app);
void add_mutants_command(CLI::App& app);
void add_docs_command(CLI::App& app);
void add_outputs_command(CLI::App& app);
void add_diff_command(CLI::App& app);

}  // namespace lsecheck::cli
