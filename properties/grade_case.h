#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/combine_kernel.h"
#include "properties/case_tensors.h"
#include "reference/grade.h"

// Holds the output of a kernel against its special-value contract and, where a finite value is due, against the exact
// value and the kernel's bound.
namespace lsecheck {

// One element that breaks what is due, in the words that a person needs: bits, exact value rounded, ulp, bound_use.
struct Violation {
  std::uint64_t row_head = 0;
  std::uint32_t depth_index = 0;
  std::string message;
};

struct CaseGrades {
  std::vector<ElementGrade> grades;    // [rows_heads * columns_of(spec)]
  std::vector<std::uint8_t> graded;    // same shape: 1 where a finite value was due and grades holds
  std::optional<Violation> violation;  // the worst one
  std::uint64_t violations = 0;
};

// The row as the kernel reads it: it points into `row`, whose memory is used again.
struct RowCopy {
  std::vector<float> lse;
  std::vector<float> mass;
  std::vector<std::uint32_t> o;
};
RowInput gather_row(const CaseTensors& tensors, std::size_t row_head, RowCopy& row);

// One finite row: the expectation and the bound of the kernel for it, on demand.
struct RowVerdictInput {
  RowExpectation expectation;
  RowBound bound;  // only for row_class finite
};
RowVerdictInput row_verdict_input(const CaseTensors& tensors, const KernelVariant& variant, std::size_t row_head);

CaseGrades grade_output(const CaseTensors& tensors, const KernelVariant& variant,
                        const std::vector<std::uint32_t>& out_bits, Reference& reference);

// Checks only the class of every element (finite, NaN, +-Inf, zero), not its error.
CaseGrades grade_classes(const CaseTensors& tensors, const KernelVariant& variant,
                         const std::vector<std::uint32_t>& out_bits);

// "0x3f81 (1.0078125)".
std::string describe_value(DType type, std::uint32_t bits);

}  // namespace lsecheck
