#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/case_tensors.h"
#include "properties/laws.h"

// One output element, taken apart: what every step of the kernel's contract gives in f32 beside the exact value, and
// how much of the final error each step brings in.
namespace lsecheck {

// A value of the contract beside what exact arithmetic has in its place. Exact values are computed to 1000 bits and
// shown as the nearest double.
struct ExplainedValue {
  double kernel = 0;  // an f32
  double exact = 0;
  double error = 0;  // kernel - exact, from the 1000 bits
};

struct NamedValue {
  std::string name;
  ExplainedValue value;
};

struct ExplainedPartition {
  std::size_t p = 0;
  float exponent = 0;         // as the kernel reads it
  std::optional<float> mass;  // of kernels that take masses
  double o = 0;
  ExplainedValue weight;       // that it enters with: the kernel's own, whether divided by the sum or not
  ExplainedValue partial_sum;  // of the chain that it enters, after it
};

struct ErrorShare {
  std::string step;
  double ulp = 0;  // signed, in ulp of the exact value; within 2^-900 of a power of two in that power's
};

struct ExplainedElement {
  std::size_t row_head = 0;
  std::size_t column = 0;
  std::vector<NamedValue> values;              // in the order in which they are formed
  std::vector<ExplainedPartition> partitions;  // that are not empty, in the order in which they are folded
  double exact = 0;
  std::uint32_t contract_bits = 0;  // what the steps give
  std::uint32_t stored_bits = 0;    // what the kernel stored: the same, unless it does not follow its contract
  // Exact arithmetic takes over behind ever later steps; each share is the change of the result that one more step of
  // f32 makes, the last two being the cast and, where the bits differ, what is not in the contract. So the shares add
  // up to the error of what is stored, exactly but for their rounding to double.
  std::vector<ErrorShare> shares;
  double total_ulp = 0;
};

// A finite value must be due of the element: finite_value_is_due. column < columns_of(spec).
ExplainedElement explain_element(const CaseTensors& tensors, std::size_t row_head, std::size_t column,
                                 std::uint32_t stored_bits);

// By the contract: then there is an exact value to hold the steps against.
bool finite_value_is_due(const CaseTensors& tensors, const KernelVariant& variant, std::size_t row_head,
                         std::size_t column);

// The element that breaks the accuracy law; nullopt where none does or no finite value is due of it.
std::optional<ExplainedElement> explain_violation(const CaseTensors& tensors, const AccuracyMeasurement& measured);

// That element, or else the graded one with the largest bound_use; nullopt where none is graded.
std::optional<ExplainedElement> explain_worst(const CaseTensors& tensors, const AccuracyMeasurement& measured);

}  // namespace lsecheck
