#include "properties/grade_case.h"

#include <fmt/format.h>

#include <cmath>

#include "properties/run_case.h"

namespace lsecheck {

namespace {

std::string due_text(std::uint8_t due) {
  std::string text;
  const auto append = [&](std::uint8_t bit, const char* name) {
    if ((due & bit) == 0) return;
    if (!text.empty()) text += " or ";
    text += name;
  };
  append(kFinite, "a finite value");
  append(kNaN, "NaN");
  append(kPositiveInf, "+Inf");
  append(kNegativeInf, "-Inf");
  return text;
}

std::uint8_t class_of(DType type, std::uint32_t bits) {
  if (is_nan(type, bits)) return kNaN;
  if (!is_inf(type, bits)) return kFinite;
  return decode(type, bits) > 0 ? kPositiveInf : kNegativeInf;
}

// Collects violations of one case and keeps the worst: wrong classes first, then the largest bound_use.
class ViolationKeeper {
 public:
  ViolationKeeper(const CaseTensors& tensors, CaseGrades& grades) : tensors_(tensors), grades_(grades) {}

  void wrong_class(std::size_t row_head, std::size_t d, std::uint32_t bits, const std::string& due) {
    add(row_head, d, INFINITY,
        [&] { return fmt::format("got {}, due is {}", describe_value(tensors_.spec.out, bits), due); });
  }
  void outside_bound(std::size_t row_head, std::size_t d, std::uint32_t bits, const ElementGrade& grade) {
    const DType type = tensors_.spec.out;
    add(row_head, d, grade.bound_use, [&] {
      if (grade.undecided)
        return fmt::format("got {}: the reference could not decide at its highest precision",
                           describe_value(type, bits));
      return fmt::format(
          "got {}, the exact value rounds to {}: {:.4g} ulp, {:.4g} scaled ulp, {} steps, bound_use {:.4g} > 1",
          describe_value(type, bits), describe_value(type, grade.correctly_rounded), grade.ulp, grade.scaled_ulp,
          grade.steps, grade.bound_use);
    });
  }

 private:
  template <class Message>
  void add(std::size_t row_head, std::size_t d, double severity, const Message& message) {
    ++grades_.violations;
    if (grades_.violation && !(severity > worst_)) return;
    worst_ = severity;
    grades_.violation = Violation{row_head, static_cast<std::uint32_t>(d), message()};
  }
  const CaseTensors& tensors_;
  CaseGrades& grades_;
  double worst_ = 0;
};

// What grade_classes and grade_output share: everything but the error of finite elements. Returns the elements of the
// row to grade.
std::vector<std::uint8_t> check_row_classes(const RowExpectation& expectation, DType out,
                                            std::span<const std::uint32_t> bits, std::size_t row_head,
                                            ViolationKeeper& keeper) {
  std::vector<std::uint8_t> to_grade(bits.size(), 0);
  for (std::size_t d = 0; d < bits.size(); ++d) {
    const std::uint8_t seen = class_of(out, bits[d]);
    switch (expectation.row_class) {
      case RowClass::zeros:
        if (decode(out, bits[d]) != 0) keeper.wrong_class(row_head, d, bits[d], "0 (every partition is empty)");
        break;
      case RowClass::all_nan:
        if (seen != kNaN) keeper.wrong_class(row_head, d, bits[d], "NaN (by the row's exponents and masses)");
        break;
      case RowClass::finite:
        // An Inf in place of a finite value is a matter of overflow, which the grade decides.
        if ((expectation.due[d] & ~kNaNByOverflow) == kFinite && seen != kNaN) {
          to_grade[d] = 1;
        } else if (seen == kNaN && (expectation.due[d] & kNaNByOverflow) != 0) {
          continue;
        } else if ((expectation.due[d] & seen) == 0) {
          keeper.wrong_class(row_head, d, bits[d], due_text(expectation.due[d]));
        }
        break;
    }
  }
  return to_grade;
}

}  // namespace

std::string describe_value(DType type, std::uint32_t bits) {
  return type == DType::f32 ? fmt::format("{:#010x} ({:.9g})", bits, decode(type, bits))
                            : fmt::format("{:#06x} ({:.6g})", bits, decode(type, bits));
}

RowInput gather_row(const CaseTensors& tensors, std::size_t row_head, RowCopy& row) {
  const std::size_t num_partitions = tensors.spec.num_partitions;
  const std::size_t depth = tensors.spec.ov_depth;
  row.lse.resize(num_partitions);
  row.o.resize(num_partitions * depth);
  row.mass.resize(tensors.mass_partial.empty() ? 0 : num_partitions);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    row.lse[p] = tensors.lse_partial[tensors.lse_index(p, row_head)];
    if (!row.mass.empty()) row.mass[p] = tensors.mass_partial[tensors.lse_index(p, row_head)];
    const auto from = tensors.o_partial.begin() + static_cast<std::ptrdiff_t>(tensors.o_index(p, row_head, 0));
    std::copy(from, from + static_cast<std::ptrdiff_t>(depth), row.o.begin() + static_cast<std::ptrdiff_t>(p * depth));
  }
  std::optional<float> sink;
  if (!tensors.attention_sink.empty()) sink = tensors.attention_sink[row_head % tensors.spec.heads];
  return {row.lse, row.o, sink, row.mass};
}

RowVerdictInput row_verdict_input(const CaseTensors& tensors, const KernelVariant& variant, std::size_t row_head) {
  const CombineKernel& kernel = kernel_of(tensors.spec);
  const CombineShape shape = shape_of(tensors);
  RowCopy row;
  RowVerdictInput input;
  input.expectation = kernel.expect(shape, variant, gather_row(tensors, row_head, row), tensors.spec.unit.kind);
  if (input.expectation.row_class == RowClass::finite) {
    input.bound = kernel.bound(shape, input.expectation, tensors.spec.unit.kind);
  }
  return input;
}

CaseGrades grade_output(const CaseTensors& tensors, const KernelVariant& variant,
                        const std::vector<std::uint32_t>& out_bits, Reference& reference) {
  const std::size_t columns = columns_of(tensors.spec);
  CaseGrades result;
  result.grades.resize(out_bits.size());
  result.graded.resize(out_bits.size());
  ViolationKeeper keeper(tensors, result);
  for (std::size_t rh = 0; rh < tensors.spec.rows_heads(); ++rh) {
    const std::span bits(out_bits.data() + rh * columns, columns);
    const RowVerdictInput row = row_verdict_input(tensors, variant, rh);
    const std::vector<std::uint8_t> to_grade = check_row_classes(row.expectation, tensors.spec.out, bits, rh, keeper);
    if (row.expectation.row_class != RowClass::finite) continue;

    // Elements that are not graded still need an operand without NaN.
    std::vector<std::uint32_t> gradable(bits.begin(), bits.end());
    for (std::size_t d = 0; d < columns; ++d) {
      if (!to_grade[d]) gradable[d] = 0;
    }
    const std::span grades(result.grades.data() + rh * columns, columns);
    reference.grade_row(row.expectation.problem(), {tensors.spec.out, gradable, row.bound.bound, row.bound.inf_allowed},
                        grades);
    for (std::size_t d = 0; d < columns; ++d) {
      result.graded[rh * columns + d] = to_grade[d];
      if (to_grade[d] && (!grades[d].within_bound || grades[d].undecided)) {
        keeper.outside_bound(rh, d, bits[d], grades[d]);
      }
    }
  }
  return result;
}

CaseGrades grade_classes(const CaseTensors& tensors, const KernelVariant& variant,
                         const std::vector<std::uint32_t>& out_bits) {
  const std::size_t columns = columns_of(tensors.spec);
  const CombineKernel& kernel = kernel_of(tensors.spec);
  CaseGrades result;
  ViolationKeeper keeper(tensors, result);
  RowCopy row;
  for (std::size_t rh = 0; rh < tensors.spec.rows_heads(); ++rh) {
    const RowExpectation expectation =
        kernel.expect(shape_of(tensors), variant, gather_row(tensors, rh, row), tensors.spec.unit.kind);
    check_row_classes(expectation, tensors.spec.out, std::span(out_bits.data() + rh * columns, columns), rh, keeper);
  }
  return result;
}

}  // namespace lsecheck
