#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "properties/results.h"
#include "properties/runner.h"

// What every command that runs cases lets its user choose, and what follows from it.
namespace lsecheck::cli {

// Kernels in processes of their own, of the cpu backend.
struct IsolationOptions {
  bool isolate = true;
  std::string case_timeout = "120s";
};

struct CaseRunOptions {
  std::string kernel = "*";
  std::string law = "*";
  std::string profile = "smoke";
  std::string seed = "1";
  std::uint64_t cases = 0;  // 0: the profile's
  std::string time;
  std::string shard;
  std::string backend = "cpu";
  std::string device_timeout = "60s";
  std::string arch = "all";
  std::string sfu = "h200";
  std::string schedule = "lockstep";
  std::string reference = "certified";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string memory = "4G";
  IsolationOptions isolation;
  std::string plugin;  // a shared object that is loaded already; empty: none
};

// Every option but --profile.
void add_case_run_options(CLI::App& command, CaseRunOptions& options);

// A check of options whose empty value would be taken for none: a script's variable that is not set.
std::string names_something(const std::string& text);

// --plugin, for a command that has options of the kernel, the backend and the executor already.
void add_plugin_option(CLI::App& command, std::string& file);

// --no-isolate and --case-timeout, of a command that runs many cases.
void add_isolation_options(CLI::App& command, IsolationOptions& options);
// --case-timeout: how long a case may take in a process of its own.
void add_case_timeout_option(CLI::App& command, std::string& text);
// What a case may take where a command has no --memory: the default of those that have it.
inline constexpr std::uint64_t kUsualMemory = std::uint64_t{4} << 30;
// What such a process may take, where a case may take so much memory. Throws CLI::ValidationError for a time that is
// none.
WorkerLimits worker_limits(const std::string& case_timeout, std::uint64_t memory = kUsualMemory);
// nullopt: --no-isolate. Throws like worker_limits().
std::optional<WorkerLimits> isolation_of(const IsolationOptions& options, std::uint64_t memory = kUsualMemory);

// What a profile covers, for --help.
inline constexpr const char* kProfileHelp =
    "profiles:\n"
    "  smoke    20000 cases, a minute and a half: every kernel, every class of case and every law some thousand times\n"
    "  nightly  200000 cases: the rare combinations of shape, regime and law\n"
    "  soak     100000000 cases: a sequence that --time ends, for days of looking";

struct PreparedRun {
  RunConfig config;
  RunContext context;
  std::uint64_t memory_limit = 0;
};

// Chooses the backend and checks everything that can be checked before the first case. Prints what was chosen for the
// user (device, seed, shard) to standard error. Throws CLI::ValidationError, or ends as cuda_device_or_exit does, and
// FileError where no failing case could be written.
PreparedRun prepare_run(CaseRunOptions options, const std::string& failure_directory);

}  // namespace lsecheck::cli
