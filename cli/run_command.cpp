#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "build_version.h"
#include "cli/commands.h"
#include "cli/coverage_gaps.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/quantities.h"
#include "cli/terminal.h"
#include "kernels/sfu/sfu.h"
#include "properties/run_case.h"
#include "properties/runner.h"
#include "properties/whole_file.h"
#include "reports/json_report.h"
#include "reports/result_store.h"
#include "reports/terminal_report.h"

namespace lsecheck::cli {
namespace {

// How many cases a profile runs when --cases does not say.
struct Profile {
  const char* name;
  std::uint64_t cases;
};
constexpr Profile kProfiles[] = {{"smoke", 4800}, {"nightly", 200'000}, {"soak", 100'000'000}};

struct RunCommandOptions {
  std::string kernel = "*";
  std::string law = "*";
  std::string profile = "smoke";
  std::string seed = "1";
  std::uint64_t cases = 0;  // 0: the profile's
  std::string time;
  std::string backend = "cpu";
  std::string device_timeout = "60s";
  std::string arch = "all";
  std::string sfu = "h200";
  std::string schedule = "lockstep";
  std::string reference = "certified";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string db;
  std::string json;
  bool resume = false;
  std::string memory = "4G";
  std::string failures = "lsecheck-results";
};

// Keeps the results of a run without a store.
class MemorySink final : public ResultSink {
 public:
  explicit MemorySink(StoredRun& run) : run_(run) {}
  void commit(const RunResults& batch, std::uint64_t next_case_index) override {
    run_.results.merge(batch);
    run_.next_case_index = next_case_index;
  }

 private:
  StoredRun& run_;
};

template <class T>
T required(std::optional<T> value, const std::string& option, const std::string& text, const char* forms) {
  if (!value) throw CLI::ValidationError(option, fmt::format("'{}' is not {}", text, forms));
  return *value;
}

RunConfig config_of(const RunCommandOptions& options) {
  RunConfig config;
  config.profile = options.profile;
  for (const Profile& profile : kProfiles) {
    if (options.profile == profile.name) config.cases = profile.cases;
  }
  if (options.cases > 0) config.cases = options.cases;
  config.seed = required(parse_seed(options.seed), "--seed", options.seed, "a number below 2^64 or 'date'");
  if (!options.time.empty()) {
    config.time = required(parse_duration(options.time), "--time", options.time, "a duration such as 90s, 30m or 2h");
  }
  config.kernel_glob = options.kernel;
  config.law_glob = options.law;
  config.limits.kernels = kernels_matching(options.kernel, backend_in_use());
  if (options.arch != "all") config.limits.arch = parse_arch(options.arch);
  config.limits.unit = options.sfu == "spec" ? sfu::UnitKind::spec : sfu::UnitKind::h200;
  config.limits.schedule = options.schedule == "random" ? Schedule::random : Schedule::lockstep;
  config.reference = *parse_reference_kind(options.reference);  // one of the two: IsMember
  config.jobs = options.jobs;
  config.failure_directory = options.failures;
  return config;
}

RunContext context_of(const RunConfig& config, const RunCommandOptions& options) {
  RunContext context;
  context.version = kProjectVersion;
  context.commit = kBuildCommit;
  context.compiler = kBuildCompiler;
  context.flags = kBuildFlags;
  context.sfu_table_digest = fmt::format("{:016x}", sfu::table_digest());
  context.profile = config.profile;
  context.backend = options.backend;
  context.arch = options.arch;
  context.unit = options.backend == "cuda" ? "hardware" : options.sfu;
  context.schedule = options.schedule;
  context.reference = options.reference;
  context.kernel_glob = config.kernel_glob;
  context.law_glob = config.law_glob;
  context.seed = config.seed;
  context.cases_requested = config.cases;
  return context;
}

void check_kernel_glob(const std::string& glob) {
  if (!kernels_matching(glob, backend_in_use()).empty()) return;
  throw CLI::ValidationError("--kernel",
                             fmt::format("no kernel of the {} backend matches '{}'; `lsecheck list kernels` names them",
                                         name_of(backend_in_use()), glob));
}

// The largest case of the sequence must fit; found out before anything runs.
void check_memory(const RunConfig& config, std::uint64_t limit) {
  // A case is held as packed and unpacked tensors, its edits and grades: about six times its unpacked partials.
  constexpr std::uint64_t kBytesPerElement = 24;
  const std::uint64_t looked_at = std::min<std::uint64_t>(config.cases, 20'000);  // the decks repeat long before
  for (std::uint64_t i = config.first_case; i < config.first_case + looked_at; ++i) {
    const CaseSpec spec = draw_spec(config.seed, i, config.limits);
    const std::uint64_t bytes =
        spec.rows_heads() * spec.num_partitions * spec.ov_depth * kBytesPerElement * config.jobs;
    if (bytes > limit) {
      throw CLI::ValidationError(
          "--memory", fmt::format("case {} ({}) needs about {} MiB on {} jobs; allow more or use fewer --jobs", i,
                                  describe_spec(spec), (bytes >> 20) + 1, config.jobs));
    }
  }
}

// A line that is rewritten on a terminal, a plain line now and then elsewhere. Standard error, so that results can be
// piped.
class ProgressLine {
 public:
  explicit ProgressLine(std::uint64_t total) : total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

  void show(const RunProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(15'000))) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - started_).count();
    fmt::print(stderr, "{}{} / {} cases, {} failures, {:.0f} cases/s{}", terminal_ ? "\r" : "", progress.next_case,
               total_, progress.failures, static_cast<double>(progress.cases) / seconds, terminal_ ? "" : "\n");
    std::fflush(stderr);
  }
  void end() const {
    if (terminal_) fmt::print(stderr, "\r{:70}\r", "");
  }

 private:
  std::uint64_t total_;
  bool terminal_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = started_;
};

// device_failed: the run ends early, with the batches before.
StoredRun execute(RunConfig config, const RunCommandOptions& options, bool& device_failed) {
  StoredRun run;
  run.context = context_of(config, options);
  std::optional<ResultStore> store;
  if (!options.db.empty()) {
    store =
        options.resume ? ResultStore::resume(options.db, run.context) : ResultStore::create(options.db, run.context);
    config.first_case = store->next_case_index();
    config.earlier_failures = store->load().results.totals.failures;
  }
  MemorySink memory(run);
  ResultSink& sink = store ? static_cast<ResultSink&>(*store) : memory;
  ProgressLine line(config.cases);
  RunEnd end = RunEnd::out_of_time;
  try {
    end = run_cases(config, sink, [&](const RunProgress& progress) { line.show(progress); });
  } catch (const cuda::DeviceError& error) {
    line.end();
    fmt::print(stderr, "lsecheck: stopped by the device, what was computed before is kept: {}{}{}\n", error.what(),
               config.jobs > 1 ? " or another of those that ran beside it (--jobs 1 tells)" : "", remedy_of(error));
    device_failed = true;
  }
  line.end();
  run.finished = end == RunEnd::finished;
  if (end == RunEnd::too_many_failures) {
    fmt::print(stderr, "lsecheck: stopped after {} failures, at the end of their batch\n", config.max_failures);
  }
  if (!store) return run;
  if (run.finished) store->finish();
  return store->load();
}

// The device decides what the CPU takes from options: the chip, the unit, the order of threads.
void choose_cuda(RunCommandOptions& options) {
  const cuda::Device& device = cuda_device_or_exit("--backend cuda");
  if (options.sfu == "spec") {
    throw CLI::ValidationError("--sfu", "spec is an adversary on the CPU; with --backend cuda the device's unit runs");
  }
  if (options.schedule == "random") {
    throw CLI::ValidationError("--schedule",
                               "random is an order on the CPU; with --backend cuda the device has its own");
  }
  if (options.arch != "all" && options.arch != name_of(device.arch)) {
    throw CLI::ValidationError("--arch", fmt::format("{}: the device is {}", options.arch, cuda::describe(device)));
  }
  options.arch = name_of(device.arch);
  use_backend(Backend::cuda);
  fmt::print(stderr, "lsecheck: on {}\n", cuda::describe(device));
}

void run(RunCommandOptions options) {
  apply_device_timeout(options.device_timeout);
  if (options.backend == "cuda") choose_cuda(options);
  if (options.resume && options.db.empty()) throw CLI::ValidationError("--resume", "names no store; add --db FILE");
  const RunConfig config = config_of(options);
  check_kernel_glob(config.kernel_glob);
  try {
    matching_laws(config.law_glob);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--law", error.what());
  }
  check_memory(config, required(parse_bytes(options.memory), "--memory", options.memory, "a size such as 512M or 4G"));
  // An unwritable report is found out before the work, not after it.
  if (!options.json.empty()) write_file_atomically(options.json, "");
  if (options.seed == "date") fmt::print(stderr, "lsecheck: --seed date is {}\n", config.seed);

  bool device_failed = false;
  const StoredRun done = execute(config, options, device_failed);
  TerminalOptions shown;
  shown.not_covered = coverage_gaps(done);
  shown.colour = standard_output_wants_colour();
  const std::string text = terminal_report(done, shown);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!options.json.empty()) write_file_atomically(options.json, results_text(done));
  if (device_failed) leave_after_device_failure();
  if (done.results.totals.failures > 0) throw ExitWith{kFailed};
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "draw cases, hold every law against them, report the worst errors");
  const auto options = std::make_shared<RunCommandOptions>();
  command->add_option("--kernel", options->kernel, "kernels whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command->add_option("--law", options->law, "laws whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command->add_option("--profile", options->profile, "smoke (4800 cases), nightly (200000) or soak (until --time)")
      ->check(CLI::IsMember({"smoke", "nightly", "soak"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "start of the case sequence; 'date' is today's UTC date as a number")
      ->type_name("N|date")
      ->capture_default_str();
  command->add_option("--cases", options->cases, "length of the case sequence (default: the profile's)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command->add_option("--time", options->time, "stop at the first batch boundary after this long: 90s, 30m, 2h")
      ->type_name("T");
  command->add_option("--backend", options->backend, "where the kernels run: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_device_timeout_option(*command, options->device_timeout);
  command->add_option("--arch", options->arch, "chip whose rules hold: sm_90, sm_100a, sm_103a, or all in turn")
      ->check(CLI::IsMember({"all", "sm_90", "sm_100a", "sm_103a"}))
      ->capture_default_str();
  command
      ->add_option("--sfu", options->sfu,
                   "special-function unit: h200 as measured, or spec, an adversary within the PTX ISA")
      ->check(CLI::IsMember({"h200", "spec"}))
      ->capture_default_str();
  command->add_option("--schedule", options->schedule, "order of a block's threads between collectives")
      ->check(CLI::IsMember({"lockstep", "random"}))
      ->capture_default_str();
  command
      ->add_option("--reference", options->reference,
                   "what decides verdicts: certified, the fast one, or exact; both give the same")
      ->check(CLI::IsMember({"certified", "exact"}))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "threads that cases are spread over; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  command->add_option("--db", options->db, "keep the results in this store, batch by batch")->type_name("FILE");
  command->add_flag("--resume", options->resume, "go on with the store of --db where it stopped");
  command->add_option("--json", options->json, "write the results as JSON")->type_name("FILE");
  command->add_option("--memory", options->memory, "refuse cases that need more")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--failures", options->failures, "folder for shrunk failing cases")
      ->type_name("DIR")
      ->capture_default_str();
  command->footer(
      "examples:\n  lsecheck run --profile smoke\n  lsecheck run --sfu spec --schedule random --seed date --time 30m "
      "--db night.db\n"
      "  lsecheck run --law accuracy --arch sm_103a --cases 10000 --json results.json");
  command->callback([options] { run(*options); });
}

}  // namespace lsecheck::cli
