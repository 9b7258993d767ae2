#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/progress_line.h"
#include "cli/quantities.h"
#include "cli/run_options.h"
#include "fuzz/hunt.h"
#include "fuzz/night_hunt.h"
#include "fuzz/worst_file.h"
#include "fuzz/worst_replay.h"
#include "properties/case_draw.h"
#include "properties/case_file.h"
#include "properties/kernel_death.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"
#include "reports/run_summary.h"

namespace lsecheck::cli {
namespace {

struct HuntCommandOptions {
  std::string kernel = "*";
  std::string arch = "sm_100a";
  std::string out = "f32";
  std::string partial = "f32";
  std::string metric = "scaled_ulp";
  std::vector<std::string> regimes{"narrow", "dominant", "ties", "attention"};
  std::vector<int> partitions;
  std::uint64_t evaluations = 16 * kIslandEvaluations;
  std::string seed = "1";
  std::size_t keep = 2;
  std::string into = "fuzz/worst";
  std::string failures = "lsecheck-results";
  bool resume = false;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  IsolationOptions isolation;
};

// Set by Ctrl-C: what was found so far is kept. A second Ctrl-C ends the program at once.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);
void stop_on_ctrl_c() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

HuntScope scope_of(const HuntCommandOptions& options) {
  HuntScope scope;
  scope.kernels = kernels_matching(options.kernel);
  if (scope.kernels.empty()) {
    throw CLI::ValidationError(
        "--kernel", fmt::format("no kernel matches '{}'; `lsecheck list kernels` names them", options.kernel));
  }
  scope.arch = *parse_arch(options.arch);  // these come from lists: IsMember
  scope.out = *parse_dtype(options.out);
  scope.partial = *parse_dtype(options.partial);
  scope.metric = *parse_hunt_metric(options.metric);
  for (const std::string& regime : options.regimes) scope.regimes.push_back(*parse_hunt_regime(regime));
  scope.partitions = options.partitions;
  return scope;
}

// One hunt of the command: what it shares with the others.
class Hunter {
 public:
  Hunter(const HuntCommandOptions& options, std::uint64_t seed) : options_(options) {
    hunt_options_.seed = seed;
    hunt_options_.islands = (options.evaluations + kIslandEvaluations - 1) / kIslandEvaluations;
    hunt_options_.keep = options.keep;
    hunt_options_.jobs = options.jobs;
    hunt_options_.isolation = isolation_of(options.isolation);
    std::filesystem::create_directories(options.into);
  }

  // All targets of one kernel: one file.
  void run(std::span<const HuntTarget> targets) {
    const HuntTarget& first = targets.front();
    const std::string path =
        fmt::format("{}/{}", options_.into, worst_file_name(first.kernel, first.out, first.partial));
    WorstFile file{first.kernel, first.out, first.partial, kGeneratorVersion, {}};
    if (std::filesystem::exists(path)) file = load_worst_file(path);
    for (const HuntTarget& target : targets) check_resumable(path, file, target);
    file.generator_version = kGeneratorVersion;
    deaths_ = 0;
    replay_known(file);
    for (const HuntTarget& target : targets) {
      if (interrupted || deaths_ >= kDeathsUntilGivenUp) break;
      hunt_one(path, file, target);
    }
    if (deaths_ >= kDeathsUntilGivenUp) {
      fmt::print("{}: {}\n", name_of(first.kernel), kernel_given_up(kDeathsUntilGivenUp));
    }
  }

  bool failed() const { return failed_; }

 private:
  void check_resumable(const std::string& path, WorstFile& file, const HuntTarget& target) const {
    const HuntRecord& record = file.record_of(target);
    if (!options_.resume || record.islands == 0) return;
    if (file.generator_version != kGeneratorVersion) {
      throw CLI::ValidationError(
          "--resume", fmt::format("{} is of generator version {}, this is {}; leave --resume out to hunt anew", path,
                                  file.generator_version, kGeneratorVersion));
    }
    if (record.seed != hunt_options_.seed) {
      throw CLI::ValidationError("--resume", fmt::format("{} was hunted with --seed {}", path, record.seed));
    }
  }

  std::vector<std::optional<WorstReplay>> replays_of(const std::vector<WorstCase>& cases) const {
    if (hunt_options_.isolation) return replay_isolated(cases, *hunt_options_.isolation, options_.jobs);
    const std::unique_ptr<Reference> reference = make_certified_reference();
    std::vector<std::optional<WorstReplay>> replays;
    replays.reserve(cases.size());
    for (const WorstCase& worst : cases) replays.push_back(replay(worst, *reference));
    return replays;
  }

  // The values of what is known are those of the kernels as they are now.
  void replay_known(WorstFile& file) {
    std::vector<WorstCase> known;
    for (const HuntRecord& record : file.records) known.insert(known.end(), record.cases.begin(), record.cases.end());
    const std::vector<std::optional<WorstReplay>> replays = replays_of(known);
    auto replayed = replays.begin();
    for (HuntRecord& record : file.records) {
      std::vector<WorstCase> cases;
      cases.swap(record.cases);
      const std::size_t keep = std::max(cases.size(), options_.keep);
      for (WorstCase& worst : cases) {
        take_replay(*replayed++, worst);
        record.add(std::move(worst), keep);
      }
    }
  }

  void take_replay(const std::optional<WorstReplay>& replayed, WorstCase& worst) {
    if (!replayed) return;
    if (replayed->failure) report({launched_tensors(worst).value(), *replayed->failure});
    if (replayed->died) ++deaths_;
    if (replayed->value >= 0) worst.value = replayed->value;
  }

  void hunt_one(const std::string& path, WorstFile& file, const HuntTarget& target) {
    HuntRecord& record = file.record_of(target);
    if (!options_.resume) record.islands = 0;
    record.seed = hunt_options_.seed;
    const HuntOutcome outcome = hunt(record, IslandKind::search, hunt_options_, interrupted, [&] {
      save_worst_file(path, file);
      if (!line_.due()) return;
      line_.show(fmt::format("{} {} P={}: {} of {} evaluations", name_of(target.kernel), name_of(target.regime),
                             target.num_partitions, record.islands * kIslandEvaluations,
                             hunt_options_.islands * kIslandEvaluations));
    });
    save_worst_file(path, file);
    line_.end();
    if (outcome.outside) report(*outcome.outside);
    if (!outcome.death.empty()) report_death(record, outcome.death);
    const std::string worst = record.cases.empty() ? "-" : fmt::format("{:.4g}", record.cases.front().value);
    fmt::print("{:<36}{:<9}{:<11}{:>5}{:>14}{:>12}\n", name_of(target.kernel), name_of(target.exponent),
               name_of(target.regime), target.num_partitions, record.islands * kIslandEvaluations, worst);
    std::fflush(stdout);
  }

  void report(const OutsideBound& outside) {
    failed_ = true;
    std::filesystem::create_directories(options_.failures);
    const std::string path = fmt::format("{}/hunt-{}.safetensors", options_.failures, case_files_++);
    save_case(path, {outside.tensors, "accuracy", "", kGeneratorVersion});
    line_.end();
    fmt::print("FAILS {}: {}\n  lsecheck repro {}\n", name_of(outside.tensors.spec.kernel), outside.message, path);
  }

  // The rows that the process was at are lost with it. The hunt comes to them again, up to the restart that died.
  void report_death(const HuntRecord& record, const std::string& death) {
    failed_ = true;
    ++deaths_;
    const HuntTarget& target = record.target;
    const std::uint64_t evaluations = (record.islands + 1) * kIslandEvaluations;
    fmt::print(
        "FAILS {}: while {} was hunted {}; the token is of a case of that shape, the line below it hunts into "
        "the same death\n  lsecheck repro {}\n  {} --jobs 1 --no-isolate\n",
        name_of(target.kernel), describe_target(target), death, shape_token(target),
        hunt_line(key_of(target), name_of(target.metric), evaluations, record.seed));
  }

  const HuntCommandOptions& options_;
  HuntOptions hunt_options_;
  ProgressLine line_;
  bool failed_ = false;
  std::size_t case_files_ = 0;
  unsigned deaths_ = 0;  // of processes that ran the kernel at hand
};

void hunt_command(const HuntCommandOptions& options) {
  const auto seed = parse_seed(options.seed);
  if (!seed) {
    throw CLI::ValidationError("--seed", fmt::format("'{}' is not a number below 2^64 or 'date'", options.seed));
  }
  const std::vector<HuntTarget> targets = hunt_targets(scope_of(options));
  if (targets.empty()) {
    throw CLI::ValidationError("--out, --partial or --partitions",
                               "no kernel that --kernel matches can be launched like this; `lsecheck list kernels` "
                               "tells types and partition counts");
  }
  stop_on_ctrl_c();
  Hunter hunter(options, *seed);
  fmt::print("{:<36}{:<9}{:<11}{:>5}{:>14}{:>12}\n", "kernel", "exponent", "regime", "P", "evaluations",
             options.metric);
  for (auto first = targets.begin(); first != targets.end() && !interrupted;) {
    const auto last =
        std::find_if(first, targets.end(), [&](const HuntTarget& t) { return t.kernel != first->kernel; });
    hunter.run({first, last});
    first = last;
  }
  if (interrupted) {
    fmt::print(stderr, "lsecheck: interrupted; what was found is in {}, go on with --resume\n", options.into);
    throw ExitWith{kEnvironment};
  }
  if (hunter.failed()) throw ExitWith{kFailed};
}

}  // namespace

void add_hunt_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("hunt", "search the inputs with the largest errors and keep them");
  const auto options = std::make_shared<HuntCommandOptions>();
  command->add_option("--kernel", options->kernel, "kernels whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command->add_option("--arch", options->arch, "chip whose rules hold")
      ->check(CLI::IsMember({"sm_90", "sm_100a", "sm_103a"}))
      ->capture_default_str();
  const CLI::IsMember types({"bf16", "f16", "f32"});
  command->add_option("--out", options->out, "output type")->check(types)->capture_default_str();
  command->add_option("--partial", options->partial, "type of the partials")->check(types)->capture_default_str();
  command->add_option("--metric", options->metric, "what to maximise; bound_use is the share of the h200 bound")
      ->check(CLI::IsMember({"ulp", "scaled_ulp", "steps", "bound_use"}))
      ->capture_default_str();
  command->add_option("--regime", options->regimes, "LSE regimes, a comma between them")
      ->delimiter(',')
      ->check(CLI::IsMember({"narrow", "dominant", "ties", "attention"}))
      ->capture_default_str();
  command
      ->add_option("--partitions", options->partitions,
                   "partition counts (default: a kernel's smallest, a middle one, its largest)")
      ->delimiter(',')
      ->type_name("P")
      ->check(CLI::Range(1, 160));
  command
      ->add_option(
          "--evaluations", options->evaluations,
          "row-heads to run for each kernel, exponent form, regime and P; rounded up to whole restarts of 4096")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "start of the search; 'date' is today's UTC date as a number")
      ->type_name("N|date")
      ->capture_default_str();
  command->add_option("--keep", options->keep, "cases to keep for each kernel, exponent form, regime and P")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000}))
      ->capture_default_str();
  command->add_option("--into", options->into, "folder of the worst cases, which are replayed first")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--failures", options->failures, "folder for cases outside the bound")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--resume", options->resume, "go on where the files in --into stopped");
  command->add_option("--jobs", options->jobs, "threads that restarts are spread over; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  add_isolation_options(*command, options->isolation);
  command->footer(
      "A kernel that brings its process down fails; the hunt of that target ends, and the others go on. --case-timeout "
      "is for one restart.\n"
      "examples:\n  lsecheck hunt --kernel 'fa4*' --regime dominant --partitions 160\n"
      "  lsecheck hunt --metric bound_use --evaluations 1000000 --seed date");
  command->callback([options] { hunt_command(*options); });
}

}  // namespace lsecheck::cli
