#include "cli/output_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "build_version.h"
#include "properties/case_expand.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck::cli {
namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 30;

}  // namespace

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_option("FILE", options.file, "a .safetensors case file in place of generated cases");
  command.add_option("--kernel", options.kernel, "kernels whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "start of the case sequence")->type_name("N")->capture_default_str();
  command.add_option("--cases", options.cases, "length of the case sequence")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--arch", options.arch, "chip whose rules hold: sm_90, sm_100a, sm_103a, or all in turn")
      ->check(CLI::IsMember({"all", "sm_90", "sm_100a", "sm_103a"}))
      ->capture_default_str();
  command.add_option("--sfu", options.sfu, "special-function unit: h200 or spec")
      ->check(CLI::IsMember({"h200", "spec"}))
      ->capture_default_str();
  command.add_option("--schedule", options.schedule, "order of a block's threads between collectives")
      ->check(CLI::IsMember({"lockstep", "random"}))
      ->capture_default_str();
  command.add_option("--jobs", options.jobs, "threads that cases are spread over")->check(CLI::Range(1U, 1024U));
}

OutputCases::OutputCases(const OutputOptions& options) : options_(options) {
  limits_.kernels = kernels_matching(options.kernel);
  if (limits_.kernels.empty()) {
    throw CLI::ValidationError(
        "--kernel", fmt::format("no kernel matches '{}'; `lsecheck list kernels` names them", options.kernel));
  }
  if (options.arch != "all") limits_.arch = parse_arch(options.arch);
  limits_.unit = options.sfu == "spec" ? sfu::UnitKind::spec : sfu::UnitKind::h200;
  limits_.schedule = options.schedule == "random" ? Schedule::random : Schedule::lockstep;
  if (!options.file.empty()) file_ = load_case(options.file, kMostFileBytes);
}

OutputsHeader OutputCases::header() const {
  std::string kernels;
  for (const KernelId kernel : limits_.kernels) {
    kernels += (kernels.empty() ? "" : ",") + std::string(name_of(kernel));
  }
  return {kGeneratorVersion, kProjectVersion, kBuildCommit, file_ ? "file" : kernels};
}

OutputCases::Case OutputCases::run_case(std::uint64_t case_index) const {
  if (file_) {
    CaseTensors tensors = bucketed(file_->tensors);
    return {tensors, output_of(tensors, case_index, "-")};
  }
  const CaseSpec spec = draw_spec(options_.seed, case_index, limits_);
  CaseTensors tensors = bucketed(expand(spec));
  CaseOutput output = output_of(tensors, case_index, format_token({0, spec}));
  return {std::move(tensors), std::move(output)};
}

std::vector<OutputCases::Case> OutputCases::run(std::uint64_t begin, std::uint64_t end) const {
  std::vector<Case> cases(end - begin);
  std::atomic<std::uint64_t> next{begin};
  const auto work = [&] {
    for (std::uint64_t i = next++; i < end; i = next++) cases[i - begin] = run_case(i);
  };
  std::vector<std::jthread> threads;
  for (unsigned job = 1; job < options_.jobs; ++job) threads.emplace_back(work);
  work();
  threads.clear();
  return cases;
}

}  // namespace lsecheck::cli
