#include "properties/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include "kernels/cuda/cuda_backend.h"
#include "properties/law_tools.h"
#include "properties/run_case.h"

namespace lsecheck {

namespace {

LawOutcome check_accuracy_only(const CaseTensors& tensors, Reference& reference) {
  std::optional<AccuracyMeasurement> measurement;
  return check_accuracy(tensors, reference, measurement);
}

constexpr std::array<Law, 26> kLaws{{
    {LawId::accuracy, "accuracy", "bound", "every element is within the kernel's proven bound of the exact value",
     check_accuracy_only},
    {LawId::all_empty_row, "all_empty_row", "contract",
     "a row of empty partitions gives what the contract says (zeros or NaN) and changes no other row",
     check_all_empty_row},
    {LawId::garbage_ignored, "garbage_ignored", "bits", "what lies under an empty partition does not matter",
     check_garbage_ignored},
    {LawId::single_partition, "single_partition", "bits",
     "one non-empty partition is returned, rounded to the output type (with a mass: within the bound)",
     check_single_partition},
    {LawId::trailing_empties, "trailing_empties", "bits", "trailing empty partitions (over-bucketed P) change nothing",
     check_trailing_empties},
    {LawId::empty_anywhere, "empty_anywhere", "bound", "an empty partition anywhere leaves the exact value",
     check_empty_anywhere},
    {LawId::permutation, "permutation", "bound", "the order of the partitions leaves the exact value",
     check_permutation},
    {LawId::equal_partitions, "equal_partitions", "bound", "equal partitions give back their common value",
     check_equal_partitions},
    {LawId::lse_shift, "lse_shift", "bound", "adding one exact constant to every LSE leaves the exact value",
     check_lse_shift},
    {LawId::value_scaling, "value_scaling", "bits", "values times 2^k give the output times 2^k", check_value_scaling},
    {LawId::negation, "negation", "bits", "negated values give the negated output", check_negation},
    {LawId::convexity, "convexity", "bound", "the output lies in the hull of the non-empty partitions, plus the bound",
     check_convexity},
    {LawId::rung_is_runtime, "rung_is_runtime", "=", "the rung kernel and the runtime-P kernel agree",
     check_rung_is_runtime},
    {LawId::row_independence, "row_independence", "=", "a row depends on no neighbour, place or grid size",
     check_row_independence},
    {LawId::every_output_written, "every_output_written", "=",
     "two poisons agree: every output is written, nothing else is", check_every_output_written},
    {LawId::schedule_order, "schedule_order", "=", "thread order, repetition and parallel blocks change nothing",
     check_schedule_order},
    {LawId::hierarchical, "hierarchical", "bound", "combining in groups first stays within the groups' bounds",
     check_hierarchical},
    {LawId::special_values, "special_values", "contract",
     "NaN and Inf among exponents, masses and values act as the chip's table says", check_special_values},
    {LawId::twin, "twin", "=", "the executor with sfu h200 and the GPU agree (with --backend cuda)", check_twin},
    {LawId::warps_per_head_agree, "warps_per_head_agree", "=",
     "how many warps share a head, or rows a warpgroup, changes nothing", check_warps_per_head_agree},
    {LawId::ragged_is_dense, "ragged_is_dense", "=", "rows in padded sequences of unequal length give the dense result",
     check_ragged_is_dense},
    {LawId::sink_absent, "sink_absent", "bits", "a sink of -inf is no sink (sfu spec: within the bound)",
     check_sink_absent},
    {LawId::fast_is_production, "fast_is_production", "=",
     "the faster variants give the bits of the contract-shaped kernel", check_fast_is_production},
    {LawId::frozen_digest, "frozen_digest", "=", "the frozen cases give the output bits on record", check_frozen_digest,
     true},
    {LawId::distribution, "distribution", "statistic",
     "mean signed error and share of correctly rounded elements are those on record", check_distribution, true},
    {LawId::large_grid, "large_grid", "=", "a row-head gives the same bits past 2^32 LSEs and 65535 row-heads",
     check_large_grid},
}};

}  // namespace

std::span<const Law> all_laws() {
  return kLaws;
}

const Law* find_law(std::string_view name) {
  const auto found = std::find_if(kLaws.begin(), kLaws.end(), [&](const Law& law) { return law.name == name; });
  return found == kLaws.end() ? nullptr : &*found;
}

const Law* find_law(std::uint8_t id) {
  const auto found =
      std::find_if(kLaws.begin(), kLaws.end(), [&](const Law& law) { return static_cast<std::uint8_t>(law.id) == id; });
  return found == kLaws.end() ? nullptr : &*found;
}

namespace {

LawOutcome measure_accuracy(const CaseTensors& tensors, Reference& reference,
                            std::optional<AccuracyMeasurement>& measurement) {
  const KernelVariant variant = variant_of(tensors.spec);
  KernelRun run = run_kernel(tensors);
  if (run.fault) return LawOutcome::fail(*run.fault);
  CaseGrades grades = grade_output(tensors, variant, run.out_bits, reference);
  LawOutcome outcome = LawOutcome::pass();
  if (grades.violation) {
    outcome = LawOutcome::fail(fmt::format("row-head {}, d {}: {}\n{} of {} elements", grades.violation->row_head,
                                           grades.violation->depth_index, grades.violation->message, grades.violations,
                                           run.out_bits.size()));
  }
  measurement = AccuracyMeasurement{variant, std::move(run.out_bits), std::move(grades)};
  return outcome;
}

template <class Check>
LawOutcome guarded(const Check& check) {
  try {
    return check();
  } catch (const cuda::DeviceError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return LawOutcome::fail(fmt::format("the check ended with an exception: {}", error.what()));
  }
}

}  // namespace

LawOutcome check_accuracy(const CaseTensors& tensors, Reference& reference,
                          std::optional<AccuracyMeasurement>& measurement) {
  return guarded([&] { return measure_accuracy(tensors, reference, measurement); });
}

LawOutcome check_guarded(const Law& law, const CaseTensors& tensors, Reference& reference) {
  return guarded([&] { return law.check(tensors, reference); });
}

}  // namespace lsecheck
