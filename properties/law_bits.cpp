#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/law_tools.h"
#include "properties/tensor_edits.h"

// The laws that compare outputs of two runs with each other.
namespace lsecheck {

namespace {

// Runs two cases (and variants) that must agree and compares them.
LawOutcome compare_runs(const CaseTensors& first, const RunOptions& first_options, const CaseTensors& second,
                        const RunOptions& second_options, BitComparison comparison, const std::string& what) {
  const KernelRun expected = run_kernel(first, first_options);
  if (expected.fault) return LawOutcome::fail(*expected.fault);
  const KernelRun got = run_kernel(second, second_options);
  if (got.fault) return LawOutcome::fail(fmt::format("{}: {}", what, *got.fault));
  const auto difference =
      first_difference(first.spec.out, columns_of(first.spec), expected.out_bits, got.out_bits, comparison);
  return difference ? LawOutcome::fail(fmt::format("{}: {}", what, *difference)) : LawOutcome::pass();
}

std::uint32_t garbage_bits(DType type, std::uint64_t kind, std::uint32_t random) {
  const std::uint32_t infinity = round_to_nearest_even(type, INFINITY);
  switch (kind) {
    case 0:
      return garbage_nan(type);
    case 1:
      return infinity;
    case 2:
      return round_to_nearest_even(type, -INFINITY);
    default:
      return type == DType::f32 ? random : random & 0xffffU;
  }
}

}  // namespace

LawOutcome check_garbage_ignored(const CaseTensors& tensors, Reference&) {
  PhiloxStream random = law_stream(tensors, LawId::garbage_ignored);
  CaseTensors emptied = tensors;
  const std::size_t pairs = emptied.lse_partial.size();
  // At least one pair is made empty, more in larger cases.
  for (std::size_t i = 0; i <= pairs / 4; ++i) make_empty(emptied, random.below(pairs));
  const bool finite_only = !kernel_of(tensors.spec).drops_garbage();
  CaseTensors other = emptied;
  const std::size_t depth = tensors.spec.ov_depth;
  bool any = false;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (!is_empty(emptied, pair)) continue;
    // Where nothing else has a weight, a kernel without a select may look at what lies there.
    if (finite_only && row_is_empty(emptied, pair % tensors.spec.rows_heads())) continue;
    any = true;
    const std::uint64_t kind = random.below(4);
    for (std::size_t d = 0; d < depth; ++d) {
      std::uint32_t bits = garbage_bits(tensors.spec.partial, kind, random.next_u32());
      if (finite_only && !is_finite(tensors.spec.partial, bits)) {
        bits = round_to_nearest_even(tensors.spec.partial, max_finite(tensors.spec.partial));
      }
      other.o_partial[pair * depth + d] = bits;
      emptied.o_partial[pair * depth + d] = 0;
    }
  }
  if (!any) return LawOutcome::skip("no row with an empty partition and another one");
  return compare_runs(emptied, {}, other, {}, BitComparison::zero_signs_and_nans_alike,
                      "zeros under the empty partitions, then garbage");
}

LawOutcome check_single_partition(const CaseTensors& tensors, Reference& reference) {
  // A mass is multiplied in and divided out again: the value comes back within the bound only, for every unit. So it
  // does from a plugin, whose logarithm of 1 may not be 0.
  const CombineKernel& kernel = kernel_of(tensors.spec);
  const bool exact = kernel.single_partition_exact();
  if (exact && tensors.spec.unit.kind != sfu::UnitKind::h200)
    return LawOutcome::skip("needs lg2(1) = 0 and ex2(0) = 1: sfu h200");
  PhiloxStream random = law_stream(tensors, LawId::single_partition);
  const CaseSpec& spec = tensors.spec;
  CaseTensors single = without_sink(tensors);
  std::vector<std::uint32_t> expected;
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    const std::size_t kept = random.below(spec.num_partitions);
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      if (p != kept) make_empty(single, single.lse_index(p, rh));
    }
    const std::size_t pair = single.lse_index(kept, rh);
    if (!std::isfinite(single.lse_partial[pair])) single.lse_partial[pair] = 3.5F;
    if (kernel.takes_masses() && !(single.mass_partial[pair] > 0)) single.mass_partial[pair] = 1;
    for (std::size_t d = 0; d < spec.ov_depth; ++d) {
      const std::uint32_t bits = single.o_partial[single.o_index(kept, rh, d)];
      expected.push_back(round_to_nearest_even(spec.out, decode(spec.partial, bits)));
    }
  }
  if (!exact) {
    const auto fault = graded_run_fault(single, reference, "one non-empty partition");
    return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
  }
  const KernelRun run = run_kernel(single);
  if (run.fault) return LawOutcome::fail(*run.fault);
  const auto difference =
      first_difference(spec.out, spec.ov_depth, expected, run.out_bits, BitComparison::zero_signs_and_nans_alike);
  return difference ? LawOutcome::fail("the only non-empty partition's value: " + *difference) : LawOutcome::pass();
}

LawOutcome check_trailing_empties(const CaseTensors& tensors, Reference& reference) {
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  const CombineKernel& kernel = kernel_of(tensors.spec);
  const int p_max = kernel.p_max();
  const int num_partitions = tensors.spec.num_partitions;
  if (num_partitions >= p_max) return LawOutcome::skip("P is already the largest");
  PhiloxStream random = law_stream(tensors, LawId::trailing_empties);
  // Half of the time to the next slot of the warp, where the lane's slot count changes.
  const int next_slot = std::min(p_max, (num_partitions / 32 + 1) * 32 + 1);
  const auto target = random.chance(1, 2) ? static_cast<std::uint64_t>(next_slot)
                                          : static_cast<std::uint64_t>(random.between(num_partitions + 1, p_max));
  std::vector<std::int64_t> sources = all_partitions(tensors);
  sources.resize(target, kNoSource);
  const auto padded = launchable(remap_partitions(tensors, sources));
  if (!padded) return LawOutcome::skip("no larger P can be launched");
  const std::string what =
      fmt::format("P = {} with trailing empties up to {}", num_partitions, padded->spec.num_partitions);
  if (!kernel.trailing_empties_exact()) {
    const auto fault = graded_run_fault(*padded, reference, what);
    return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
  }
  return compare_runs(tensors, {}, *padded, {}, BitComparison::zero_signs_and_nans_alike, what);
}

LawOutcome check_negation(const CaseTensors& tensors, Reference&) {
  CaseTensors negated = tensors;
  const std::uint32_t partial_sign = tensors.spec.partial == DType::f32 ? 0x80000000U : 0x8000U;
  for (std::uint32_t& bits : negated.o_partial) bits ^= partial_sign;
  const KernelRun run = run_kernel(tensors);
  if (run.fault) return LawOutcome::fail(*run.fault);
  KernelRun opposite = run_kernel(negated);
  if (opposite.fault) return LawOutcome::fail("negated values: " + *opposite.fault);
  const std::uint32_t out_sign = tensors.spec.out == DType::f32 ? 0x80000000U : 0x8000U;
  const std::size_t columns = columns_of(tensors.spec);
  for (std::size_t i = 0; i < opposite.out_bits.size(); ++i) {
    if (i % columns < tensors.spec.ov_depth) opposite.out_bits[i] ^= out_sign;
  }
  const auto difference = first_difference(tensors.spec.out, columns, run.out_bits, opposite.out_bits,
                                           BitComparison::zero_signs_and_nans_alike);
  return difference ? LawOutcome::fail("negated values, output negated back: " + *difference) : LawOutcome::pass();
}

namespace {

// Every variant that `belongs` beside the expected one is held against it, bit by bit.
template <class Belongs>
LawOutcome compare_variants(const CaseTensors& tensors, const KernelVariant& expected, const Belongs& belongs,
                            const char* no_other) {
  bool any = false;
  for (const KernelVariant& variant : kernel_of(tensors.spec).variants(shape_of(tensors.spec))) {
    if (!belongs(expected, variant)) continue;
    any = true;
    RunOptions first;
    first.variant = expected;
    RunOptions other;
    other.variant = variant;
    LawOutcome outcome = compare_runs(tensors, first, tensors, other, BitComparison::every_bit,
                                      fmt::format("{} against {}", expected.name, variant.name));
    if (outcome.status != LawOutcome::Status::holds) return outcome;
  }
  return any ? LawOutcome::pass() : LawOutcome::skip(no_other);
}

KernelVariant production_variant(const CaseTensors& tensors) {
  return kernel_of(tensors.spec).variants(shape_of(tensors.spec)).front();
}

}  // namespace

LawOutcome check_rung_is_runtime(const CaseTensors& tensors, Reference&) {
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  return compare_variants(
      tensors, production_variant(tensors),
      [](const KernelVariant& first, const KernelVariant& other) {
        return first.p_static != other.p_static && other.load_bytes == 0;
      },
      "P is off the ladder, or the kernel has no other variant for this rung");
}

LawOutcome check_warps_per_head_agree(const CaseTensors& tensors, Reference&) {
  return compare_variants(
      tensors, production_variant(tensors),
      [](const KernelVariant& first, const KernelVariant& other) {
        return first.warps_per_head != other.warps_per_head || first.m_pack != other.m_pack;
      },
      "the kernel has one way to spread a row over threads");
}

LawOutcome check_ragged_is_dense(const CaseTensors& tensors, Reference&) {
  return compare_variants(
      tensors, production_variant(tensors),
      [](const KernelVariant& first, const KernelVariant& other) { return first.ragged != other.ragged; },
      "the kernel takes no ragged rows");
}

// Against the run-time kernel: in rows with a NaN LSE the rung kernels' slots differ from both.
LawOutcome check_fast_is_production(const CaseTensors& tensors, Reference&) {
  constexpr const char* kNone = "the kernel has no faster variant for this shape";
  for (const KernelVariant& variant : kernel_of(tensors.spec).variants(shape_of(tensors.spec))) {
    if (variant.p_static != 0 || variant.load_bytes != 0) continue;
    return compare_variants(
        tensors, variant, [](const KernelVariant&, const KernelVariant& other) { return other.load_bytes > 0; }, kNone);
  }
  return LawOutcome::skip(kNone);
}

LawOutcome check_sink_absent(const CaseTensors& tensors, Reference& reference) {
  if (!kernel_of(tensors.spec).takes_sink()) return LawOutcome::skip("the kernel takes no sink");
  const CaseTensors none = without_sink(tensors);
  CaseTensors absent = none;
  absent.spec.sink = SinkKind::minus_infinity;
  absent.attention_sink.assign(absent.spec.heads, -INFINITY);
  constexpr const char* kWhat = "a sink of -inf in every head";
  if (tensors.spec.unit.kind == sfu::UnitKind::h200) {
    return compare_runs(none, {}, absent, {}, BitComparison::zero_signs_and_nans_alike, kWhat);
  }
  const auto fault = graded_run_fault(absent, reference, kWhat);
  return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
}

LawOutcome check_row_independence(const CaseTensors& tensors, Reference&) {
  PhiloxStream random = law_stream(tensors, LawId::row_independence);
  const CaseSpec& spec = tensors.spec;
  const std::size_t rows_heads = spec.rows_heads();
  const std::size_t columns = columns_of(spec);
  const auto row = static_cast<std::int64_t>(random.below(rows_heads));
  const auto neighbour = static_cast<std::int64_t>(random.below(rows_heads));
  RunOptions fixed_variant;
  fixed_variant.variant = variant_of(spec);
  const KernelRun whole = run_kernel(tensors, fixed_variant);
  if (whole.fault) return LawOutcome::fail(*whole.fault);
  const auto row_of = [&](const KernelRun& run, std::size_t index) {
    const auto begin = run.out_bits.begin() + static_cast<std::ptrdiff_t>(index * columns);
    return std::vector<std::uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(columns));
  };
  const std::vector<std::uint32_t> expected = row_of(whole, static_cast<std::size_t>(row));
  const std::vector<std::vector<std::int64_t>> places{{row}, {kNoSource, row, neighbour}, {neighbour, kNoSource, row}};
  for (const auto& place : places) {
    const KernelRun moved = run_kernel(remap_rows(tensors, place), fixed_variant);
    const auto index =
        static_cast<std::size_t>(std::find(place.rbegin(), place.rend(), row).base() - place.begin() - 1);
    const std::string what = fmt::format("row-head {} moved to place {} of {}", row, index, place.size());
    if (moved.fault) return LawOutcome::fail(what + ": " + *moved.fault);
    const auto difference =
        first_difference(spec.out, columns, expected, row_of(moved, index), BitComparison::every_bit);
    if (difference) return LawOutcome::fail(what + ": " + *difference);
  }
  return LawOutcome::pass();
}

LawOutcome check_every_output_written(const CaseTensors& tensors, Reference&) {
  RunOptions zeros;
  zeros.poison = 0x00;
  return compare_runs(tensors, {}, tensors, zeros, BitComparison::every_bit,
                      "output memory of NaN bits, then of zeros, before the launch");
}

LawOutcome check_schedule_order(const CaseTensors& tensors, Reference&) {
  PhiloxStream random = law_stream(tensors, LawId::schedule_order);
  RunOptions lockstep;
  lockstep.schedule = Schedule::lockstep;
  RunOptions shuffled;
  shuffled.schedule = Schedule::random;
  shuffled.schedule_seed = random.next_u64();
  RunOptions parallel = lockstep;
  parallel.jobs = 2;
  for (const auto& [options, what] :
       {std::pair{shuffled, "threads in another order"}, {parallel, "blocks on two threads"}}) {
    LawOutcome outcome = compare_runs(tensors, lockstep, tensors, options, BitComparison::every_bit, what);
    if (outcome.status != LawOutcome::Status::holds) return outcome;
  }
  return LawOutcome::pass();
}

}  // namespace lsecheck
