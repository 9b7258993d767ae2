#include "properties/runner.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/registry.h"
#include "kernels/sfu/splitmix64.h"
#include "properties/case_coverage.h"
#include "properties/case_evaluator.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/chart_rows.h"
#include "properties/explain/explained_outcome.h"
#include "properties/failure_shrink.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/plugin/plugin_laws.h"
#include "properties/run_case.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck {

namespace {

// Failures of one batch that are shrunk; the others are recorded as drawn. A broken kernel fails most cases, and a few
// small ones tell as much.
constexpr std::size_t kShrunkPerBatch = 8;

// Batches that are under way together: jobs that have no case left of one go on with the next, while its last cases
// end. Committed they are one by one, in order.
constexpr std::size_t kBatchesAtOnce = 8;

// Laws tried in addition to accuracy until two of them apply.
constexpr std::size_t kExtraLaws = 2;

std::string p_class_of(int num_partitions) {
  if (num_partitions == 1) return "1";
  if (num_partitions <= 16) return "2-16";
  if (num_partitions <= 32) return "17-32";
  return num_partitions <= 64 ? "33-64" : "65-160";
}

// Adds the elements of one accuracy measurement to a line of the accuracy table.
void add_measurement(StatRow& row, const CaseTensors& tensors, const AccuracyMeasurement& measured,
                     std::uint64_t case_index, const std::string& token) {
  const std::size_t columns = columns_of(tensors.spec);
  const auto add = [&](MetricStats& metric, double value, std::size_t i) {
    metric.histogram.add(value);
    if (!(value > metric.max.value)) return;
    metric.max = {value,
                  case_index,
                  token,
                  i / columns,
                  static_cast<std::uint32_t>(i % columns),
                  measured.out_bits[i],
                  measured.grades.grades[i].correctly_rounded};
  };
  ++row.cases;
  row.row_heads += tensors.spec.rows_heads();
  for (std::size_t i = 0; i < measured.out_bits.size(); ++i) {
    row.digest += sfu::splitmix64((sfu::splitmix64(case_index) + i) ^ (std::uint64_t{measured.out_bits[i]} << 32));
    if (!measured.grades.graded[i]) continue;
    const ElementGrade& grade = measured.grades.grades[i];
    ++row.elements;
    row.correctly_rounded += grade.steps == 0;
    add(row.ulp, grade.ulp, i);
    add(row.scaled_ulp, grade.scaled_ulp, i);
    add(row.steps, static_cast<double>(grade.steps), i);
    add(row.bound_use, grade.bound_use, i);
  }
}

// Runs `work`, which launches the kernel of a case. Trouble with the device stops the run, so it must say how to come
// back to the case.
template <class Work>
auto naming_case(LawId law, const CaseSpec& spec, const Work& work) {
  try {
    return work();
  } catch (const cuda::DeviceError& error) {
    throw cuda::DeviceError(
        error.kind(), fmt::format("{}, in the case lsecheck repro --backend {} {}", error.what(),
                                  name_of(backend_in_use()), format_token({static_cast<std::uint8_t>(law), spec})));
  }
}

// How often a law's turn comes in one round. Few cases meet the premises of these (a P on the ladder; one kernel; a
// sink to take away), and a smoke run has to check every law some hundred times.
std::size_t turns_of(LawId id) {
  switch (id) {
    case LawId::rung_is_runtime:
      return 4;
    case LawId::warps_per_head_agree:
      return 3;
    case LawId::sink_absent:
      return 2;
    default:
      return 1;
  }
}

// The laws in the order of their turns: all of them once, then again those that have turns left.
std::vector<const Law*> law_rotation(const std::vector<const Law*>& laws) {
  std::vector<const Law*> rotation;
  for (std::size_t round = 0, before = 1; rotation.size() != before; ++round) {
    before = rotation.size();
    std::copy_if(laws.begin(), laws.end(), std::back_inserter(rotation),
                 [round](const Law* law) { return turns_of(law->id) > round; });
  }
  return rotation;
}

// Whether the law can be held on the backend in use.
bool can_apply(LawId law) {
  if (const PluginDescription* const plugin = loaded_plugin()) return says_something_of(law, *plugin);
  return law != LawId::twin || backend_in_use() == Backend::cuda;
}

}  // namespace

std::string failure_file(const std::string& directory, const Failure& failure) {
  std::filesystem::create_directories(directory);
  return fmt::format("{}/case-{}-{}.safetensors", directory, failure.case_index, failure.law);
}

namespace {

Failure with_case_file(Failure failure, const CaseTensors& tensors, const RunConfig& config) {
  failure.case_file = failure_file(config.failure_directory, failure);
  save_case(failure.case_file, {tensors, failure.law, failure.token, kGeneratorVersion});
  return failure;
}

// The first look is all there is of such a failure: its message and its case stay.
Failure failure_as_drawn(Failure failure, const CaseSpec& spec, const RunConfig& config) {
  failure.message += kHoldsAtSecondLook;
  return config.failure_directory.empty() ? failure : with_case_file(std::move(failure), expand(spec), config);
}

}  // namespace

Failure shrunk_failure(Failure failure, const RunConfig& config, Reference& reference) {
  const CaseSpec spec = draw_spec(config.seed, failure.case_index, config.limits);
  const Law& law = *find_law(failure.law);
  return naming_case(law.id, spec, [&] {
    const FailsLikewise fails = fails_law(law, reference);
    if (!fails(bucketed(expand(spec)))) return failure_as_drawn(std::move(failure), spec, config);
    const CaseSpec small = shrink_spec(spec, fails);
    const CaseTensors drawn = expand(small);
    const LawOutcome again = explained_outcome(law, bucketed(drawn), reference);
    if (again.status != LawOutcome::Status::fails) return failure_as_drawn(std::move(failure), spec, config);
    failure.token = format_token({static_cast<std::uint8_t>(law.id), small});
    failure.shape = describe_spec(small);
    failure.message = again.message;
    if (config.failure_directory.empty()) return failure;
    return with_case_file(std::move(failure), shrink_tensors(drawn, fails), config);
  });
}

std::string describe_spec(const CaseSpec& spec) {
  if (spec.kernel == KernelId::plugin) {
    return fmt::format("P={} rows={} heads={} D={} {}<-{} lse:{} ({}) values:{} empties:{} garbage:{}",
                       spec.num_partitions, spec.rows, spec.heads, spec.ov_depth, name_of(spec.out),
                       name_of(spec.partial), name_of(spec.lse), name_of(spec.exponent), name_of(spec.values),
                       name_of(spec.empties), name_of(spec.garbage));
  }
  const std::string sink = spec.sink == SinkKind::none ? "" : fmt::format(" sink:{}", name_of(spec.sink));
  const bool with_masses = spec.exponent != ExponentForm::log2 || spec.mass != MassRegime::unit;
  const std::string masses =
      with_masses ? fmt::format(" exponent:{} mass:{}", name_of(spec.exponent), name_of(spec.mass)) : "";
  return fmt::format("P={} rows={} heads={} D={} {}<-{} {} {} lse:{} values:{} empties:{} garbage:{}{}{} sfu:{} {}",
                     spec.num_partitions, spec.rows, spec.heads, spec.ov_depth, name_of(spec.out),
                     name_of(spec.partial), name_of(spec.arch), name_of(spec.selection), name_of(spec.lse),
                     name_of(spec.values), name_of(spec.empties), name_of(spec.garbage), sink, masses,
                     name_of(spec.unit.kind), name_of(spec.schedule));
}

bool asks_for_law(const std::string& law_glob, LawId law) {
  return fnmatch(law_glob.c_str(), std::string(find_law(static_cast<std::uint8_t>(law))->name).c_str(), 0) == 0;
}

std::vector<const Law*> matching_laws(const std::string& law_glob) {
  std::vector<const Law*> laws;
  bool any = false;
  for (const Law& law : all_laws()) {
    if (!asks_for_law(law_glob, law.id)) continue;
    any = true;
    if (can_apply(law.id) && !law.of_run) laws.push_back(&law);
  }
  if (const PluginDescription* const plugin = loaded_plugin(); plugin != nullptr && any && laws.empty()) {
    throw std::invalid_argument(fmt::format("'{}' names no law that says something of {}", law_glob, plugin->name));
  }
  if (laws.empty() && asks_for_law(law_glob, LawId::twin)) {
    throw std::invalid_argument("law twin compares with a GPU; add --backend cuda");
  }
  if (!any) {
    throw std::invalid_argument(fmt::format("no law matches '{}'; `lsecheck list laws` names them", law_glob));
  }
  return laws;
}

RunResults evaluate_case(const CaseSpec& spec, std::uint64_t case_index, const std::vector<const Law*>& laws,
                         Reference& reference, const CaseHooks& hooks) {
  RunResults results;
  const auto begin_law = [&](LawId law) {
    if (hooks.beginning) hooks.beginning(law);
  };
  const CaseTensors tensors = bucketed(expand(spec));
  const std::string kernel(name_of(spec.kernel));
  results.totals.cases = 1;
  results.totals.row_heads = spec.rows_heads();
  for (const std::string& name : coverage_classes(spec)) ++results.coverage[name];

  const auto record = [&](const Law& law, const LawOutcome& outcome) {
    LawRow& row = results.laws[{kernel, std::string(law.name)}];
    if (outcome.status == LawOutcome::Status::not_applicable) {
      ++row.not_applicable;
      return;
    }
    ++row.checked;
    if (outcome.status != LawOutcome::Status::fails) return;
    ++row.failed;
    ++results.totals.failures;
    const std::string token = format_token({static_cast<std::uint8_t>(law.id), spec});
    results.failures.push_back(
        {case_index, kernel, std::string(law.name), token, token, "", describe_spec(spec), outcome.message});
  };

  std::vector<const Law*> others = laws;
  if (others.front()->id == LawId::accuracy) {
    others.erase(others.begin());
    std::optional<AccuracyMeasurement> measured;
    begin_law(LawId::accuracy);
    const LawOutcome outcome =
        naming_case(LawId::accuracy, spec, [&] { return check_accuracy(tensors, reference, measured); });
    record(*find_law("accuracy"), outcome);
    if (measured) {
      if (hooks.on_measured) hooks.on_measured(case_index, tensors, *measured);
      const StatKey key{kernel,
                        measured->variant.name,
                        spec.kernel == KernelId::plugin ? "any" : std::string(name_of(spec.arch)),
                        backend_in_use() == Backend::cpu ? std::string(name_of(spec.unit.kind)) : "hardware",
                        std::string(name_of(spec.out)),
                        std::string(name_of(spec.partial)),
                        p_class_of(tensors.spec.num_partitions),
                        std::string(name_of(spec.lse))};
      StatRow& row = results.stats[key];
      const std::string token = format_token({static_cast<std::uint8_t>(LawId::accuracy), spec});
      add_measurement(row, tensors, *measured, case_index, token);
      results.totals.elements = row.elements;
      add_charts(results, tensors, *measured, key, case_index, token);
    }
  }
  // Two further laws by index; one whose premise the case lacks gives way to the next.
  const std::vector<const Law*> rotation = law_rotation(others);
  std::vector<const Law*> tried;
  std::size_t applied = 0;
  for (std::size_t step = 0; step < rotation.size() && applied < kExtraLaws; ++step) {
    const Law* const law = rotation[(kExtraLaws * case_index + step) % rotation.size()];
    if (std::find(tried.begin(), tried.end(), law) != tried.end()) continue;
    tried.push_back(law);
    begin_law(law->id);
    const LawOutcome outcome = naming_case(law->id, spec, [&] { return check_guarded(*law, tensors, reference); });
    record(*law, outcome);
    applied += outcome.status != LawOutcome::Status::not_applicable;
  }
  // Without accuracy nothing is graded; what the other laws compared are the outputs of the case.
  if (laws.front()->id != LawId::accuracy && applied > 0)
    results.totals.elements = spec.rows_heads() * columns_of(spec);
  return results;
}

RunEnd run_cases(const RunConfig& config, ResultSink& sink, const std::function<void(const RunProgress&)>& progress) {
  const std::vector<const Law*> laws = matching_laws(config.law_glob);
  if (laws.empty()) return RunEnd::finished;
  const std::unique_ptr<CaseEvaluator> cases =
      config.isolation ? make_isolated_cases(config, laws) : make_threaded_cases(config, laws);
  const auto counts = [&](const Failure& failure) { return !config.known || !config.known(failure); };

  const auto started = std::chrono::steady_clock::now();
  const auto earlier = std::count_if(config.earlier_failures.begin(), config.earlier_failures.end(), counts);
  RunProgress done{next_case_of(config.shard, config.first_case, config.cases), 0, static_cast<std::uint64_t>(earlier)};
  const auto end_of_batch = [&](std::uint64_t begin) { return std::min(begin + kBatchCases, config.cases); };
  // The hook hears of no case that the run, which may stop at any batch, does not hold.
  const std::size_t batches_at_once = config.on_measured ? 1 : kBatchesAtOnce;
  std::size_t batches_begun = 0;
  std::uint64_t to_begin = done.next_case;
  while (done.next_case < config.cases) {
    for (; to_begin < config.cases && batches_begun < batches_at_once; ++batches_begun) {
      cases->begin(to_begin, end_of_batch(to_begin));
      to_begin = next_case_of(config.shard, end_of_batch(to_begin), config.cases);
    }
    const std::uint64_t end = end_of_batch(done.next_case);
    RunResults batch;
    for (std::uint64_t i = done.next_case; i < end; ++i) batch.merge(cases->next());
    --batches_begun;
    std::size_t counted = 0;
    for (Failure& failure : batch.failures) {
      if (counts(failure) && ++counted <= std::min(kShrunkPerBatch, std::size_t{config.max_failures}))
        failure = cases->shrink(failure);
    }
    const std::uint64_t next = next_case_of(config.shard, end, config.cases);
    sink.commit(batch, next);
    done = {next, done.cases + batch.totals.cases, done.failures + counted};
    progress(done);
    if (done.failures >= config.max_failures) return RunEnd::too_many_failures;
    if (config.time && std::chrono::steady_clock::now() - started >= *config.time && next < config.cases) {
      return RunEnd::out_of_time;
    }
  }
  return RunEnd::finished;
}

}  // namespace lsecheck
