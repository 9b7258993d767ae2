#include "properties/frozen_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/sfu/splitmix64.h"
#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_limits.h"
#include "properties/grade_case.h"
#include "properties/laws.h"
#include "properties/run_case.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck {

namespace {

// A kernel's sequence deals every pair of types, chip, depth, regime and shape within this many cases; FA4 has a kernel
// for each rung besides.
constexpr std::uint64_t kFrozenCases = 80;
constexpr std::uint64_t kFrozenCasesWithRungs = 240;

// Terms (rows * P * D) of one of the f32 cases below.
constexpr std::uint64_t kTerms = std::uint64_t{1} << 18;

// Of the counts that a kernel can be launched with: about this many, evenly over them.
constexpr std::size_t kCounts = 4;

// Output in f32, many rows, nothing empty: the last bit of a sum, which a cast to 16 bits hides, and which among the
// sums of some partitions only now and then reaches the output.
std::vector<CaseSpec> cases_of_last_bits(KernelId kernel) {
  const CombineKernel& registered = *registered_kernel(kernel);
  CaseSpec spec;
  spec.kernel = kernel;
  spec.out = spec.partial = DType::f32;
  spec.exponent = registered.exponent_forms().front();
  spec.mass = registered.takes_masses() ? MassRegime::near_one : MassRegime::unit;
  spec.seed = kFrozenSeed;
  std::map<int, int> depth_of_count;  // the smallest it is compiled for
  for (const int depth : registered.depths()) {
    spec.ov_depth = static_cast<std::uint16_t>(depth);
    for (const int count : launchable_counts(spec)) depth_of_count.try_emplace(count, depth);
  }
  std::vector<CaseSpec> cases;
  std::size_t index = 0;
  for (const auto& [count, depth] : depth_of_count) {
    const bool chosen = index * kCounts / depth_of_count.size() != (index + 1) * kCounts / depth_of_count.size();
    ++index;
    if (!chosen) continue;
    spec.num_partitions = static_cast<std::uint16_t>(count);
    spec.ov_depth = static_cast<std::uint16_t>(depth);
    const std::uint64_t terms = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(depth);
    spec.rows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kTerms / terms, 4, 128));
    for (const LseRegime regime : {LseRegime::narrow, LseRegime::dominant, LseRegime::ties}) {
      spec.lse = regime;
      cases.push_back(spec);
    }
  }
  return cases;
}

std::uint64_t digest_of(std::uint64_t digest, const KernelRun& run) {
  const auto mix = [&](std::uint64_t word) { digest = sfu::splitmix64(digest ^ sfu::splitmix64(word)); };
  if (run.fault) {
    for (const char c : *run.fault) mix(static_cast<unsigned char>(c));
    return digest;
  }
  mix(run.out_bits.size());
  for (const std::uint32_t bits : run.out_bits) mix(bits);
  return digest;
}

void add_errors(FrozenRow& row, const CaseTensors& tensors, const KernelVariant& variant, const KernelRun& run,
                Reference& reference) {
  if (run.fault) return;
  const CaseGrades grades = grade_output(tensors, variant, run.out_bits, reference);
  for (std::size_t i = 0; i < grades.grades.size(); ++i) {
    if (!grades.graded[i]) continue;
    row.bound_use = std::max(row.bound_use, grades.grades[i].bound_use);
    if (!(grades.grades[i].scaled_ulp > row.scaled_ulp)) continue;
    row.scaled_ulp = grades.grades[i].scaled_ulp;
    row.token = format_token({static_cast<std::uint8_t>(LawId::frozen_digest), tensors.spec});
  }
}

}  // namespace

std::vector<CaseSpec> frozen_cases(KernelId kernel) {
  DrawLimits limits;
  limits.kernels = {kernel};
  const bool rungs = registered_kernel(kernel)->has_rungs();
  std::vector<CaseSpec> cases;
  for (std::uint64_t i = 0; i < (rungs ? kFrozenCasesWithRungs : kFrozenCases); ++i) {
    cases.push_back(draw_spec(kFrozenSeed, i, limits));
  }
  const std::vector<CaseSpec> last_bits = cases_of_last_bits(kernel);
  cases.insert(cases.end(), last_bits.begin(), last_bits.end());
  return cases;
}

FrozenRows measure_frozen(KernelId kernel, FrozenErrors errors, const std::function<bool(const FrozenKey&)>& wanted) {
  FrozenRows rows;
  const std::unique_ptr<Reference> reference = make_reference(ReferenceKind::certified);
  for (const CaseSpec& drawn : frozen_cases(kernel)) {
    const CaseTensors tensors = bucketed(expand(drawn));
    const CaseSpec& spec = tensors.spec;
    for (const KernelVariant& variant : kernel_of(spec).variants(shape_of(spec))) {
      const FrozenKey key{std::string(name_of(kernel)), variant.name, std::string(name_of(spec.arch)),
                          fmt::format("{}<-{}", name_of(spec.out), name_of(spec.partial))};
      if (!wanted(key)) continue;
      FrozenRow& row = rows[key];
      if (row.token.empty()) row.token = format_token({static_cast<std::uint8_t>(LawId::frozen_digest), spec});
      RunOptions options;
      options.backend = Backend::cpu;
      options.variant = variant;
      const KernelRun run = run_kernel(tensors, options);
      ++row.cases;
      row.digest = digest_of(row.digest, run);
      if (errors == FrozenErrors::measure) add_errors(row, tensors, variant, run, *reference);
    }
  }
  return rows;
}

}  // namespace lsecheck
