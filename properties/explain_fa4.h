#pragma once

#include <cstdint>
#include <vector>

#include "properties/case_tensors.h"

// One output element of fa4_splitk_combine, taken apart: what every step of the contract gives in f32 beside the exact
// value, and how much of the final error each step brings in.
namespace lsecheck {

// An f32 value of the kernel beside what exact arithmetic has in its place. Exact values are computed to 1000 bits and
// shown as the nearest double.
struct ExplainedValue {
  float kernel = 0;
  double exact = 0;
  double error = 0;  // kernel - exact, from the 1000 bits
};

struct ExplainedPartition {
  int p = 0;
  float lse = 0;
  double o = 0;
  ExplainedValue weight;       // w_p = 2^(lse_p - g)
  ExplainedValue partial_sum;  // after partition p
};

// Exact arithmetic takes over behind ever later steps; each share is the change of the result that one more step of f32
// makes. So the shares add up to the error of the output, exactly.
struct ErrorShares {
  double sum = 0;         // s: ex2 of every lse_p - m, and their sum
  double global_lse = 0;  // g = lg2(s) + m
  double weights = 0;     // w_p: lse_p - g, ex2, its flush of small weights
  double folding = 0;     // the fma of every partition
  double cast = 0;        // to the output type
  double total = 0;
};

struct Fa4Explanation {
  float m = 0;  // exact: the largest LSE is one of the inputs
  ExplainedValue s;
  ExplainedValue g;
  std::vector<ExplainedPartition> partitions;  // that are not empty, in the order in which they are folded
  double exact = 0;
  std::uint32_t out_bits = 0;  // what the steps give; a kernel that follows the contract stores these bits
  ErrorShares ulp;             // signed, in ulp of the exact value
};

// The element's row is of class finite: at least one partition is not empty, no LSE is NaN or +inf, and the values of
// the partitions that are not empty are finite. The sequence does not depend on the variant.
Fa4Explanation explain_fa4(const CaseTensors& tensors, std::size_t row_head, std::size_t depth_index);

}  // namespace lsecheck
