#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/mutant_tree.h"
#include "properties/mutant_patch.h"
#include "properties/whole_file.h"
#include "reports/json_report.h"
#include "reports/mutants_report.h"

namespace lsecheck::cli {
namespace {

constexpr std::chrono::seconds kRunLimit{1800};
constexpr std::uint64_t kFirstLook = 1280;  // cases

struct MutantsOptions {
  std::vector<std::string> patches;
  std::string directory;  // empty: properties/mutants of the sources
  std::string source = ".";
  std::string scratch;  // empty: build/mutants of the sources
  std::string profile = "smoke";
  std::string programs;  // empty: they are not kept
  std::string markdown;
  std::string json;
  bool resume = false;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

using FlaggedCases = std::array<std::vector<std::uint64_t>, kDetectorCount>;

// One run of the program in the tree.
struct ProgramRun {
  ChildEnd end;
  double seconds = 0;
  std::optional<StoredRun> results;  // none where the program did not come to its end
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void fail(int code, const std::string& message) {
  fmt::print(stderr, "lsecheck: {}\n", message);
  throw ExitWith{code};
}

// Runs the program in the tree, with and without its mutant.
class Programs {
 public:
  Programs(const MutantTree& tree, const MutantsOptions& options) : tree_(tree), options_(options) {}

  ProgramRun run(const std::string& program, const std::vector<std::string>& more) const {
    const std::string json = tree_.file("results.json");
    std::filesystem::remove_all(tree_.file("failures"));
    std::filesystem::remove(json);
    std::vector<std::string> argv{program,        "run", "--profile",  options_.profile,
                                  "--stop-after", "1",   "--jobs",     std::to_string(options_.jobs),
                                  "--json",       json,  "--failures", tree_.file("failures")};
    argv.insert(argv.end(), more.begin(), more.end());
    ProgramRun done;
    const auto start = std::chrono::steady_clock::now();
    done.end = run_child(argv, tree_.file("run.log"), kRunLimit);
    done.seconds = seconds_since(start);
    if (done.end.exit_code != kClean && done.end.exit_code != kFailed) return done;
    done.results = parse_results(read_whole_text(json), json);
    return done;
  }
  // The time goes to the result.
  ProgramRun run_mutant(const std::vector<std::string>& more, MutantResult& result) const {
    ProgramRun done = run(tree_.program(), more);
    result.seconds += done.seconds;
    return done;
  }

  // The first cases of these kernels, with the detectors beside them.
  ProgramRun first_look(const std::string& program, const std::string& kernels, FlaggedCases& flagged) const {
    const std::string detectors = tree_.file("detectors.json");
    std::filesystem::remove(detectors);
    ProgramRun done = run(
        program, {"--kernel", kernels, "--cases", std::to_string(kFirstLook), "--law", "*", "--detectors", detectors});
    if (done.results) flagged = parse_detectors(read_whole_text(detectors));
    return done;
  }

  // The program without a mutant, kept aside.
  std::string unmutated() const { return tree_.file("lsecheck-unmutated"); }
  void keep_unmutated() const {
    std::filesystem::copy_file(tree_.program(), unmutated(), std::filesystem::copy_options::overwrite_existing);
  }
  void keep_mutant(const std::string& name) const {
    if (options_.programs.empty()) return;
    std::filesystem::copy_file(tree_.program(), options_.programs + "/" + name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  // What the detectors flag without a mutant in the first cases of these kernels.
  const FlaggedCases& false_alarms(const std::string& kernels) {
    const auto known = false_alarms_.find(kernels);
    if (known != false_alarms_.end()) return known->second;
    FlaggedCases flagged;
    const ProgramRun look = first_look(unmutated(), kernels, flagged);
    if (!look.end.clean()) fail_unmutated(look.end);
    return false_alarms_[kernels] = flagged;
  }
  [[noreturn]] void fail_unmutated(const ChildEnd& end) const {
    fail(kFailed, fmt::format("the unmutated sources fail ({}), so a mutant would prove nothing; see `{} run`",
                              end.text(), unmutated()));
  }

 private:
  const MutantTree& tree_;
  const MutantsOptions& options_;
  std::map<std::string, FlaggedCases> false_alarms_;
};

// Known worst cases stand before the sequence and all fail with a broken kernel; a case of the sequence tells more.
const Failure* first_failure(const RunResults& results) {
  const auto drawn = std::find_if(results.failures.begin(), results.failures.end(),
                                  [](const Failure& failure) { return failure.found_token.starts_with("lse1-"); });
  if (drawn != results.failures.end()) return &*drawn;
  return results.failures.empty() ? nullptr : &results.failures.front();
}

// Whether the run found the mutant out.
bool kills(const ProgramRun& run, MutantResult& result) {
  if (!run.results) {
    result.outcome = MutantOutcome::killed;
    result.killed_by = "the program ended: " + run.end.text();
    return true;
  }
  result.cases_run = std::max(result.cases_run, run.results->results.totals.cases);
  const Failure* const failure = first_failure(run.results->results);
  if (failure == nullptr) return false;
  result.outcome = MutantOutcome::killed;
  result.killed_by = failure->law;
  result.token = failure->token;
  // The laws of the whole run and the known worst cases have no place in the sequence.
  const bool in_sequence = failure->found_token.starts_with("lse1-") && run.results->results.totals.cases > 0;
  result.cases = in_sequence ? failure->case_index + 1 : result.cases_run;
  return true;
}

// The kernels in which a run's failures are.
std::set<std::string> failing_kernels(const ProgramRun& run) {
  std::set<std::string> kernels;
  if (!run.results) return kernels;
  for (const Failure& failure : run.results->results.failures) kernels.insert(failure.kernel);
  return kernels;
}

// The profile in the order in which it is likely to come to an end soon. The frozen digests tell which kernels have
// other bits, and whose first cases to look at: a kernel sees the same cases alone and among others. They are the last
// to take the credit. What no law has found by then meets the whole profile.
void hold_laws_against(Programs& programs, const MutantTree& tree, MutantResult& result) {
  const ProgramRun digests = programs.run_mutant({"--law", "frozen_digest"}, result);
  const std::set<std::string> changed = failing_kernels(digests);
  const std::string kernels = changed.size() == 1 ? *changed.begin() : "*";
  FlaggedCases flagged;
  const ProgramRun look = programs.first_look(tree.program(), kernels, flagged);
  result.seconds += look.seconds;
  const bool found = kills(look, result);
  const FlaggedCases& unmutated = programs.false_alarms(kernels);
  for (std::size_t i = 0; i < kDetectorCount; ++i) {
    result.flagged[i] =
        static_cast<std::uint64_t>(std::count_if(flagged[i].begin(), flagged[i].end(), [&](std::uint64_t index) {
          return !std::binary_search(unmutated[i].begin(), unmutated[i].end(), index);
        }));
  }
  if (found) return;
  for (const std::string& kernel : changed) {
    if (kills(programs.run_mutant({"--law", "distribution", "--kernel", kernel}, result), result)) return;
  }
  if (kills(digests, result) || kills(programs.run_mutant({}, result), result)) return;
  result.cases = result.cases_run;
  result.detail = "every law holds: a law or a regime is missing";
}

MutantResult try_mutant(Programs& programs, const MutantTree& tree, const MutantPatch& patch) {
  MutantResult result;
  result.patch = patch;
  tree.refresh();
  if (const auto wrong = tree.apply(patch.path)) {
    result.outcome = MutantOutcome::does_not_apply;
    result.detail = *wrong;
    return result;
  }
  const auto build_start = std::chrono::steady_clock::now();
  if (const auto wrong = tree.build()) {
    result.outcome = MutantOutcome::would_not_build;
    result.detail = *wrong;
    return result;
  }
  result.build_seconds = seconds_since(build_start);
  programs.keep_mutant(patch.name);
  hold_laws_against(programs, tree, result);
  return result;
}

// Builds it, and looks whether the laws that are to find a mutant find nothing.
void prepare_unmutated(Programs& programs, const MutantTree& tree) {
  tree.refresh();
  if (const auto wrong = tree.build()) fail(kEnvironment, "the unmutated sources do not build: " + *wrong);
  programs.keep_unmutated();
  for (const char* law : {"frozen_digest", "distribution"}) {
    const ProgramRun run = programs.run(programs.unmutated(), {"--law", law});
    if (!run.end.clean()) programs.fail_unmutated(run.end);
  }
}

std::vector<MutantPatch> chosen_patches(const MutantsOptions& options) {
  if (options.patches.empty()) {
    return mutants_in(options.directory.empty() ? options.source + "/properties/mutants" : options.directory);
  }
  std::vector<MutantPatch> patches;
  patches.reserve(options.patches.size());
  for (const std::string& path : options.patches) patches.push_back(read_mutant_patch(path));
  return patches;
}

void write_tables(const MutantsOptions& options, const MutantsReport& report) {
  if (!options.markdown.empty()) write_file_atomically(options.markdown, mutants_markdown(report));
  if (!options.json.empty()) write_file_atomically(options.json, mutants_json(report));
}

// What an earlier run wrote: nothing, unless this one resumes it.
MutantsReport earlier_report(const MutantsOptions& options) {
  MutantsReport report;
  report.profile = options.profile;
  if (!options.resume) return report;
  if (options.json.empty()) throw CLI::ValidationError("--resume", "goes on with the file of --json; name it");
  report = read_mutants(options.json);
  if (report.profile != options.profile) {
    throw CLI::ValidationError("--resume", fmt::format("{} is of profile {}", options.json, report.profile));
  }
  return report;
}

bool holds(const MutantsReport& report, const MutantPatch& patch) {
  return std::any_of(report.mutants.begin(), report.mutants.end(),
                     [&](const MutantResult& result) { return result.patch.name == patch.name; });
}

void add_by_name(MutantsReport& report, MutantResult result) {
  const auto behind = std::find_if(report.mutants.begin(), report.mutants.end(),
                                   [&](const MutantResult& other) { return other.patch.name > result.patch.name; });
  report.mutants.insert(behind, std::move(result));
}

void mutants(const MutantsOptions& options) {
  if (!std::filesystem::exists(options.source + "/kernels/combine_kernel.h")) {
    throw CLI::ValidationError("--source", options.source + " holds no sources of lsecheck; name its checkout");
  }
  const std::vector<MutantPatch> patches = chosen_patches(options);
  MutantsReport report = earlier_report(options);
  write_tables(options, report);  // what cannot be written shows before the hour of work
  if (!options.programs.empty()) std::filesystem::create_directories(options.programs);
  const MutantTree tree(options.source, options.scratch.empty() ? options.source + "/build/mutants" : options.scratch,
                        options.jobs);
  Programs programs(tree, options);
  prepare_unmutated(programs, tree);
  report.cases = kFirstLook;
  for (std::size_t i = 0; i < kDetectorCount; ++i) report.false_alarms[i] = programs.false_alarms("*")[i].size();
  for (const MutantPatch& patch : patches) {
    if (holds(report, patch)) continue;
    MutantResult result = try_mutant(programs, tree, patch);
    fmt::print("{}", mutant_line(result));
    std::fflush(stdout);
    add_by_name(report, std::move(result));
    write_tables(options, report);
  }
  tree.refresh();
  fmt::print("{} of {} killed\n", report.count(MutantOutcome::killed), report.mutants.size());
  if (report.count(MutantOutcome::killed) != report.mutants.size()) throw ExitWith{kFailed};
}

}  // namespace

void add_mutants_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("mutants", "plant bugs in the kernels and see which law finds each");
  const auto options = std::make_shared<MutantsOptions>();
  command->add_option("PATCH", options->patches, "patches to try (default: all of --dir)");
  command->add_option("--dir", options->directory, "folder of *.patch files (default: properties/mutants of --source)")
      ->type_name("DIR");
  command->add_option("--source", options->source, "checkout of lsecheck that the patches are for")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--scratch", options->scratch, "where a copy is patched and built (default: build/mutants there)")
      ->type_name("DIR");
  command->add_option("--profile", options->profile, "the cases that a mutant has to survive; see lsecheck run --help")
      ->check(CLI::IsMember({"smoke", "nightly", "soak"}))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "processors for the builds and the runs")->check(CLI::Range(1U, 1024U));
  command->add_option("--programs", options->programs, "folder to keep the program with each mutant in, by its name")
      ->type_name("DIR");
  command->add_option("--markdown", options->markdown, "write the table as Markdown")->type_name("FILE");
  command->add_option("--json", options->json, "write the table as JSON")->type_name("FILE");
  command->add_flag("--resume", options->resume, "keep the mutants that the file of --json tells of already");
  command->footer(
      "Each patch (diff -u, paths with one leading folder) is planted alone in a copy of the sources, which is built "
      "against the cpu backend and runs the profile until a law fails. Beside the first law stand the usual "
      "tolerances on the same cases: how many they flag that they do not flag without the mutant.\n"
      "Needs cmake, ninja, patch and a compiler, as ./dev setup installs them.\n"
      "exit codes: 0 every mutant is killed; 1 one survives, does not build or does not apply\n"
      "examples:\n  lsecheck mutants\n  lsecheck mutants mine.patch --json mine.json\n"
      "  lsecheck mutants --dir our-patches --source ~/lsecheck --markdown table.md");
  command->callback([options] { mutants(*options); });
}

}  // namespace lsecheck::cli
