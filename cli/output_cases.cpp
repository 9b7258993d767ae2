#include "cli/output_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <string_view>
#include <utility>

#include "build_version.h"
#include "properties/case_expand.h"
#include "properties/case_kernel.h"
#include "properties/kernel_death.h"
#include "properties/runner.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck::cli {
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
  add_isolation_options(command, options.isolation);
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
  if (!options.file.empty()) {
    file_ = load_case(options.file, kUsualMemory);
    file_->tensors = bucketed(std::move(file_->tensors));
  }
  if (const auto limits = isolation_of(options.isolation)) {
    const auto serve = [this](std::string_view request, const WorkerPool::Mark&) {
      const std::uint64_t i = std::stoull(std::string(request));
      return format_output(output(i), drawn(i).out);
    };
    pool_.emplace(serve, options.jobs, *limits);
  }
}

OutputsHeader OutputCases::header() const {
  std::string kernels;
  for (const KernelId kernel : limits_.kernels) {
    kernels += (kernels.empty() ? "" : ",") + std::string(name_of(kernel));
  }
  return {kGeneratorVersion, kProjectVersion, kBuildCommit, file_ ? "file" : kernels};
}

CaseSpec OutputCases::drawn(std::uint64_t case_index) const {
  return file_ ? file_->tensors.spec : draw_spec(options_.seed, case_index, limits_);
}

CaseTensors OutputCases::tensors(std::uint64_t case_index) const {
  return file_ ? file_->tensors : bucketed(expand(drawn(case_index)));
}

OutputCases::Case OutputCases::not_run(std::uint64_t case_index) const {
  const CaseSpec spec = drawn(case_index);
  const std::string token = file_ ? "-" : format_token({0, spec});
  return {bucketed(spec), {case_index, token, "-", {}, ""}};
}

CaseOutput OutputCases::output(std::uint64_t case_index) const {
  if (file_) return output_of(file_->tensors, case_index, "-");
  return output_of(tensors(case_index), case_index, format_token({0, drawn(case_index)}));
}

void OutputCases::take(const WorkerAnswer& answer, Case& one) {
  const auto output = answer.death.empty() ? parse_output(answer.reply, one.spec.out) : std::nullopt;
  if (output && output->case_index == one.output.case_index && output->token == one.output.token) {
    one.output = *output;
    return;
  }
  one.output.variant = variant_of(one.spec).name;
  if (answer.given_up()) {
    one.output.fault = kernel_given_up(kDeathsUntilGivenUp);
    return;
  }
  one.output.fault = answer.death.empty() ? "sent back damaged results" : answer.death;
  const KernelId kernel = one.spec.kernel;
  if (++deaths_[kernel] == kDeathsUntilGivenUp) pool_->give_up(static_cast<std::size_t>(kernel));
}

void OutputCases::run_isolated(std::vector<Case>& cases) {
  for (const Case& one : cases) {
    pool_->submit({static_cast<std::size_t>(one.spec.kernel), std::to_string(one.output.case_index)});
  }
  // Deaths are counted here, where answers are in order: which case is the last of a kernel depends neither on time nor
  // on jobs.
  for (Case& one : cases) take(pool_->next(), one);
}

void OutputCases::run_on_threads(std::vector<Case>& cases) const {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      cases[i].output = output(cases[i].output.case_index);
    }
  };
  std::vector<std::future<void>> others;
  for (unsigned job = 1; job < options_.jobs; ++job) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

std::vector<OutputCases::Case> OutputCases::run(std::uint64_t begin, std::uint64_t end) {
  std::vector<Case> cases;
  cases.reserve(end - begin);
  for (std::uint64_t i = begin; i < end; ++i) cases.push_back(not_run(i));
  if (pool_) {
    run_isolated(cases);
  } else {
    run_on_threads(cases);
  }
  return cases;
}

}  // namespace lsecheck::cli
