#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/version_text.h"
#include "properties/whole_file.h"
#include "reports/store_error.h"

namespace lsecheck::cli {
namespace {

constexpr const char* kDescription =
    "Runs the SM100 split-K attention combine kernels against an exact log2-domain reference, drives them with "
    "generated "
    "cases, and explains and replays what fails.";

constexpr const char* kExitCodes =
    "exit codes: 0 clean; 1 a law failed, or a comparison did; 2 usage or unreadable input; 3 not reproduced; 4 "
    "device, disk or "
    "environment; "
    "125 token of another generator version";

// The contract is one line, whatever a library or an argument put into the message.
int complain(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  message = "lsecheck: " + message + "\n";
  std::fputs(message.c_str(), stderr);  // fmt::print throws when standard error is closed
  return code;
}

std::string help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "see lsecheck --help" : fmt::format("see lsecheck {} --help", chosen.front()->get_name());
}

// Called inside a catch block: the one place where an exception becomes an exit code.
int exit_code_of_current_exception(const CLI::App& app) {
  try {
    throw;
  } catch (const ExitWith& end) {
    return end.code;
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain(kUsage, fmt::format("{}; {}", error.what(), help_hint(app)));
  } catch (const StoreError& error) {
    return complain(error.kind() == StoreError::Kind::unreadable ? kUsage : kEnvironment, error.what());
  } catch (const FileError& error) {
    return complain(error.exit_code(), error.what());
  } catch (const cuda::DeviceError& error) {
    complain(kEnvironment, error.what() + remedy_of(error));
    leave_after_device_failure();
  } catch (const std::bad_alloc&) {
    return complain(kEnvironment, "out of memory; use fewer --jobs or a smaller --memory");
  } catch (const std::exception& error) {
    return complain(kEnvironment, error.what());
  }
}

// A full disk under a redirected standard output shows only when the last buffer is written.
int flush_standard_output(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  return complain(kEnvironment, fmt::format("cannot write standard output: {}", std::strerror(errno)));
}

int run(int argc, char** argv) {
  // A file that may not grow (ulimit -f) is a write that fails, as on a full disk, and not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app{kDescription, "lsecheck"};
  app.footer(kExitCodes);
  app.set_version_flag("--version", version_text, "print what fixes the bits of a result, and exit");
  app.require_subcommand(0, 1);  // none at all is refused below, so that an unknown name is refused by name
  add_list_command(app);
  add_run_command(app);
  add_nightly_command(app);
  add_repro_command(app);
  add_report_command(app);
  add_compare_command(app);
  add_merge_command(app);
  add_check_command(app);
  add_bench_command(app);
  add_calibrate_command(app);
  add_exhaustive_command(app);
  add_certify_command(app);
  add_hunt_command(app);
  add_mutants_command(app);
  add_docs_command(app);
  add_diff_command(app);
  add_outputs_command(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("a sub-command");
    return kClean;
  } catch (...) {
    return exit_code_of_current_exception(app);
  }
}

}  // namespace
}  // namespace lsecheck::cli

int main(int argc, char** argv) {
  using namespace lsecheck::cli;
  try {
    return flush_standard_output(run(argc, argv));
  } catch (...) {  // an error while an error was being reported
    std::fputs("lsecheck: out of memory\n", stderr);
    return kEnvironment;
  }
}
