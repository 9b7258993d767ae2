#include "fuzz/worst_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "fuzz/hunt_evaluation.h"
#include "fuzz/worst_text.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/grade_case.h"
#include "properties/kernel_death.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"

namespace lsecheck {

namespace {

CaseSpec launched_spec(const WorstCase& worst) {
  const HuntTarget& target = worst.target;
  CaseSpec spec;
  spec.kernel = target.kernel;
  spec.arch = target.arch;
  spec.num_partitions = static_cast<std::uint16_t>(target.num_partitions);
  spec.ov_depth = static_cast<std::uint16_t>(worst.ov_depth);
  spec.out = target.out;
  spec.partial = target.partial;
  spec.exponent = target.exponent;
  spec.lse = target.regime;
  return spec;
}

// What a worker says of a case: that it cannot be launched, or its value and, where it fails, how.
constexpr char kNotInThisBuild = 'n';
constexpr char kHolds = 'h';
constexpr char kFails = 'f';

std::string to_wire(const WorstReplay& replayed) {
  const std::string value = fmt::format("{:a}", replayed.value);
  return replayed.failure ? kFails + value + " " + *replayed.failure : kHolds + value;
}

// Throws std::invalid_argument for what no worker says.
std::optional<WorstReplay> from_wire(std::string_view reply) {
  if (reply == std::string_view(&kNotInThisBuild, 1)) return std::nullopt;
  const bool fails = reply.front() == kFails;
  if (!fails && reply.front() != kHolds) throw std::invalid_argument("neither holds nor fails");
  const std::string_view value = reply.substr(1, reply.find(' ') - 1);
  WorstReplay replayed{parse_hex_float_field<double>("value", value), std::nullopt, false};
  if (fails) replayed.failure = reply.substr(std::min(value.size() + 2, reply.size()));
  return replayed;
}

std::optional<WorstReplay> replay_from(WorkerAnswer answer) {
  if (answer.given_up()) return std::nullopt;
  if (answer.death.empty()) {
    try {
      return from_wire(answer.reply);
    } catch (const std::invalid_argument&) {
      answer.death = "sent back damaged results";
    }
  }
  return WorstReplay{-1, kernel_death(answer), true};
}

}  // namespace

std::optional<CaseTensors> launched_tensors(const WorstCase& worst) {
  const CaseSpec spec = launched_spec(worst);
  if (spec_error(spec) || kernel_of(spec).refuse(shape_of(spec))) return std::nullopt;
  HuntRow row{worst.lse, worst.mass, {}};
  for (const std::uint32_t bits : worst.o) row.o.insert(row.o.end(), spec.ov_depth, bits);
  CaseTensors tensors = tensors_of(spec, std::span(&row, 1));
  tensors.exponent_scale = worst.exponent_scale;
  return tensors;
}

std::optional<WorstReplay> replay(const WorstCase& worst, Reference& reference) {
  const std::optional<CaseTensors> tensors = launched_tensors(worst);
  if (!tensors) return std::nullopt;
  const CaseSpec& spec = tensors->spec;
  WorstReplay result;
  const std::vector<KernelVariant> variants = kernel_of(spec).variants(shape_of(spec));
  const auto own = std::find_if(variants.begin(), variants.end(),
                                [&](const KernelVariant& variant) { return variant.name == worst.variant; });
  RunOptions options;
  options.variant = own == variants.end() ? variants.front() : *own;
  const KernelRun run = run_guarded(*tensors, options);
  if (run.fault) {
    result.failure = *run.fault;
    return result;
  }
  const CaseGrades grades = grade_output(*tensors, *options.variant, run.out_bits, reference);
  if (grades.violation) result.failure = grades.violation->message;
  for (std::size_t d = 0; d < spec.ov_depth; ++d) {
    if (grades.graded[d] != 0) result.value = std::max(result.value, metric_of(grades.grades[d], worst.target.metric));
  }
  return result;
}

std::vector<std::optional<WorstReplay>> replay_isolated(std::span<const WorstCase> cases, const WorkerLimits& limits,
                                                        unsigned jobs) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const auto serve = [&](std::string_view request, const WorkerPool::Mark&) {
    const auto replayed = replay(cases[std::stoull(std::string(request))], *reference);
    return replayed ? to_wire(*replayed) : std::string(1, kNotInThisBuild);
  };
  std::vector<WorkerTask> tasks;
  tasks.reserve(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    tasks.push_back({static_cast<std::size_t>(cases[i].target.kernel), std::to_string(i)});
  }
  std::vector<std::optional<WorstReplay>> replays;
  replays.reserve(cases.size());
  for (const WorkerAnswer& answer : WorkerPool(serve, jobs, limits).run(tasks, kDeathsUntilGivenUp)) {
    replays.push_back(replay_from(answer));
  }
  return replays;
}

}  // namespace lsecheck
