#include "properties/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/sfu/splitmix64.h"
#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_limits.h"
#include "properties/law_tools.h"
#include "properties/runner.h"
#include "properties/token.h"
#include "reference/certified_reference.h"

namespace lsecheck {

namespace {

// Every number of metric_grid.h up to 1 is a multiple of 2^-19.
constexpr double kGrid = 0x1p20;

constexpr std::array<LseRegime, 7> kRegimes{
    LseRegime::narrow,          LseRegime::dominant, LseRegime::extreme_spread, LseRegime::large_magnitude,
    LseRegime::masked_sentinel, LseRegime::ties,     LseRegime::flushed_weights};

// Row-heads of a sample. What is cast to 16 bits shows a rounding mistake in almost every element; in f32 the errors of
// the weights lie over it.
constexpr std::uint32_t kRows16 = 256;
constexpr std::uint32_t kRows32 = 1024;
constexpr std::uint32_t kRecordFactor = 4;

// The rows of a kernel's samples: the count nearest to 8 partitions, its smallest depth, partials in the output type
// where it has that.
std::optional<CaseSpec> sample_shape(KernelId kernel, DType out) {
  const CombineKernel& registered = *registered_kernel(kernel);
  CaseSpec spec;
  spec.kernel = kernel;
  spec.out = out;
  spec.partial = registered.supports_types(out, out) ? out : DType::f32;
  if (!registered.supports_types(out, spec.partial)) return std::nullopt;
  const auto forms = registered.exponent_forms();
  // A scale would be shared by the rows.
  spec.exponent = std::find(forms.begin(), forms.end(), ExponentForm::log2) != forms.end() ? ExponentForm::log2
                                                                                           : ExponentForm::natural;
  spec.mass = registered.takes_masses() ? MassRegime::near_one : MassRegime::unit;
  std::optional<CaseSpec> best;
  for (const int depth : registered.depths()) {
    spec.ov_depth = static_cast<std::uint16_t>(depth);
    for (const int count : launchable_counts(spec)) {
      spec.num_partitions = static_cast<std::uint16_t>(count);
      if (!best || std::abs(count - 8) < std::abs(best->num_partitions - 8)) best = spec;
    }
  }
  return best;
}

}  // namespace

double DistributionRow::mean_upward() const {
  return static_cast<double>(upward) / kGrid / static_cast<double>(rows * columns);
}

double DistributionRow::mean_outward() const {
  return static_cast<double>(outward) / kGrid / static_cast<double>(rows * columns);
}

double DistributionRow::share_correct() const {
  return static_cast<double>(correctly_rounded) / static_cast<double>(rows * columns);
}

std::vector<CaseSpec> distribution_samples(KernelId kernel, std::uint64_t seed, SampleUse use) {
  std::vector<CaseSpec> samples;
  for (const DType out : {DType::bf16, DType::f16, DType::f32}) {
    const auto shape = sample_shape(kernel, out);
    if (!shape) continue;
    for (const LseRegime regime : kRegimes) {
      CaseSpec spec = *shape;
      spec.rows = out == DType::f32 ? kRows32 : kRows16;
      if (use == SampleUse::record) spec.rows *= kRecordFactor;
      spec.lse = regime;
      // The bit of the use keeps the record's seeds apart from those of every run.
      spec.seed = sfu::splitmix64(seed) << 1 | (use == SampleUse::record ? 1 : 0);
      samples.push_back(spec);
    }
  }
  return samples;
}

DistributionKey distribution_key(const CaseSpec& sample) {
  return {std::string(name_of(sample.kernel)), std::string(name_of(sample.out)), std::string(name_of(sample.lse))};
}

std::optional<DistributionRow> measure_distribution(const CaseTensors& sample, Reference& reference) {
  RunOptions options;
  options.backend = Backend::cpu;
  const KernelRun run = run_kernel(sample, options);
  if (run.fault) return std::nullopt;
  const CaseGrades grades = grade_output(sample, variant_of(sample.spec), run.out_bits, reference);
  DistributionRow row;
  row.rows = sample.spec.rows_heads();
  row.columns = columns_of(sample.spec);
  for (std::size_t i = 0; i < grades.grades.size(); ++i) {
    const ElementGrade& grade = grades.grades[i];
    if (grades.graded[i]) {
      const auto error = static_cast<std::int64_t>(std::clamp(grade.signed_ulp, -1.0, 1.0) * kGrid);
      row.upward += error;
      row.outward += decode(sample.spec.out, grade.correctly_rounded) < 0 ? -error : error;
    }
    row.correctly_rounded += !grades.graded[i] || grade.steps == 0;
  }
  return row;
}

std::optional<std::string> distribution_shift(const DistributionRow& recorded, const DistributionRow& now) {
  // Upward by far more than the roundings of these few operations.
  constexpr double kUp = 1 + 0x1p-40;
  const double spread = 1 / static_cast<double>(now.rows) + 1 / static_cast<double>(recorded.rows);
  const double allowed = std::sqrt(kLogRate / 2 * spread) * kUp;
  const double upward = std::fabs(now.mean_upward() - recorded.mean_upward());
  const double outward = std::fabs(now.mean_outward() - recorded.mean_outward());
  const double share = std::fabs(now.share_correct() - recorded.share_correct());
  if (upward <= 2 * allowed && outward <= 2 * allowed && share <= allowed) return std::nullopt;
  return fmt::format(
      "over {} row-heads the mean error is {:.4f} ulp upward and {:.4f} away from zero, on record {:.4f} and {:.4f}, "
      "chance allows {:.4f}; correctly rounded {:.2f} %, on record {:.2f} %, chance allows {:.2f} %",
      now.rows, now.mean_upward(), now.mean_outward(), recorded.mean_upward(), recorded.mean_outward(), 2 * allowed,
      100 * now.share_correct(), 100 * recorded.share_correct(), 100 * allowed);
}

RunResults check_distribution_of_kernel(KernelId kernel, std::uint64_t seed, const DistributionRows& recorded) {
  RunResults results;
  const auto reference = make_certified_reference();
  for (const CaseSpec& sample : distribution_samples(kernel, seed, SampleUse::run)) {
    const auto on_record = recorded.find(distribution_key(sample));
    if (on_record == recorded.end()) continue;
    const auto now = measure_distribution(expand(sample), *reference);
    const auto shift = now ? distribution_shift(on_record->second, *now) : "the executor stops the kernel";
    const std::string name(name_of(kernel));
    LawRow& law = results.laws[{name, "distribution"}];
    ++law.checked;
    if (!shift) continue;
    ++law.failed;
    ++results.totals.failures;
    const std::string token = format_token({static_cast<std::uint8_t>(LawId::distribution), sample});
    results.failures.push_back({0, name, "distribution", token, token, "", describe_spec(sample), *shift});
  }
  return results;
}

DistributionRows measure_record(std::uint64_t seed) {
  DistributionRows rows;
  const auto reference = make_certified_reference();
  for (const KernelId kernel : kernels_matching("*")) {
    for (const CaseSpec& sample : distribution_samples(kernel, seed, SampleUse::record)) {
      if (const auto row = measure_distribution(expand(sample), *reference)) rows[distribution_key(sample)] = *row;
    }
  }
  return rows;
}

// The case itself is the sample.
LawOutcome check_distribution(const CaseTensors& tensors, Reference& reference) {
  if (backend_in_use() != Backend::cpu) return LawOutcome::skip("is on record for the executor: --backend cpu");
  const auto on_record = recorded_distribution().find(distribution_key(tensors.spec));
  const auto samples = distribution_samples(tensors.spec.kernel, 0, SampleUse::run);
  const bool is_sample = std::any_of(samples.begin(), samples.end(), [&](CaseSpec sample) {
    sample.seed = tensors.spec.seed;
    return sample == tensors.spec;
  });
  if (!is_sample || on_record == recorded_distribution().end()) return LawOutcome::skip("is no sample on record");
  const auto now = measure_distribution(tensors, reference);
  if (!now) return LawOutcome::fail("the executor stops the kernel");
  const auto shift = distribution_shift(on_record->second, *now);
  return shift ? LawOutcome::fail(*shift) : LawOutcome::pass();
}

}  // namespace lsecheck
