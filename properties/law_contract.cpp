#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/law_tools.h"
#include "properties/tensor_edits.h"

// The laws of the special-value contract.
namespace lsecheck {

LawOutcome check_all_empty_row(const CaseTensors& tensors, Reference&) {
  PhiloxStream random = law_stream(tensors, LawId::all_empty_row);
  const CaseSpec& spec = tensors.spec;
  const std::size_t row = random.below(spec.rows_heads());
  CaseTensors emptied = tensors;
  for (std::size_t p = 0; p < spec.num_partitions; ++p) make_empty(emptied, emptied.lse_index(p, row));
  const KernelRun before = run_kernel(tensors);
  if (before.fault) return LawOutcome::fail(*before.fault);
  KernelRun after = run_kernel(emptied);
  if (after.fault) return LawOutcome::fail(fmt::format("row-head {} emptied: {}", row, *after.fault));
  const CaseGrades grades = grade_classes(emptied, variant_of(spec), after.out_bits);
  if (grades.violation && grades.violation->row_head == row) {
    return LawOutcome::fail(
        fmt::format("row-head {} emptied, d {}: {}", row, grades.violation->depth_index, grades.violation->message));
  }
  const std::size_t columns = columns_of(spec);
  const auto at = [&](std::vector<std::uint32_t>& bits) {
    return bits.begin() + static_cast<std::ptrdiff_t>(row * columns);
  };
  std::vector<std::uint32_t> expected = before.out_bits;
  std::copy_n(at(after.out_bits), columns, at(expected));
  const auto difference = first_difference(spec.out, columns, expected, after.out_bits, BitComparison::every_bit);
  return difference ? LawOutcome::fail(fmt::format("row-head {} emptied: {}", row, *difference)) : LawOutcome::pass();
}

namespace {

// Plants one special value: NaN or +Inf beside the row's own exponents, NaN alone among empty partitions, or a NaN
// mass.
void plant_special_input(CaseTensors& tensors, PhiloxStream& random) {
  const std::size_t row = random.below(tensors.spec.rows_heads());
  const std::size_t p = random.below(tensors.spec.num_partitions);
  const std::uint64_t kind = random.below(tensors.mass_partial.empty() ? 3 : 4);
  if (kind == 3) {
    tensors.mass_partial[tensors.lse_index(p, row)] = NAN;
    return;
  }
  if (kind == 2) {
    for (std::size_t q = 0; q < tensors.spec.num_partitions; ++q) make_empty(tensors, tensors.lse_index(q, row));
  }
  tensors.lse_partial[tensors.lse_index(p, row)] = kind == 1 ? INFINITY : NAN;
}

}  // namespace

LawOutcome check_special_values(const CaseTensors& tensors, Reference&) {
  PhiloxStream random = law_stream(tensors, LawId::special_values);
  CaseTensors planted = tensors;
  if (!has_special_input(tensors)) plant_special_input(planted, random);
  for (const Arch arch : kAllArchs) {
    if (backend_in_use() == Backend::cuda && arch != tensors.spec.arch) continue;  // a device is one chip
    planted.spec.arch = arch;
    if (kernel_of(planted.spec).refuse(shape_of(planted.spec))) continue;  // not a split count of that chip
    for (const KernelVariant& variant : kernel_of(planted.spec).variants(shape_of(planted.spec))) {
      RunOptions options;
      options.variant = variant;
      const KernelRun run = run_kernel(planted, options);
      const std::string what = fmt::format("{}, {} kernel", name_of(arch), variant.name);
      if (run.fault) return LawOutcome::fail(what + ": " + *run.fault);
      const CaseGrades grades = grade_classes(planted, variant, run.out_bits);
      if (grades.violation) {
        return LawOutcome::fail(fmt::format("{}: row-head {}, d {}: {}", what, grades.violation->row_head,
                                            grades.violation->depth_index, grades.violation->message));
      }
    }
  }
  return LawOutcome::pass();
}

}  // namespace lsecheck
