#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/combine_kernel.h"
#include "properties/case_spec.h"
#include "properties/explain/contract_run.h"

// The contracts of the kernels for one output element, operation for operation as their headers in kernels/sm100 give
// them. Only for elements of which a finite value is due.
namespace lsecheck {

// What one output element is made of.
struct ElementInput {
  std::vector<float> exponent;  // [P], as the kernel reads it
  std::vector<float> mass;      // [P], of kernels that take masses
  std::vector<float> o;         // [P]: the element's column, in column ov_depth (l of level 1) the masses
  std::optional<float> sink;    // natural log
  ExponentForm form = ExponentForm::log2;
  float exponent_scale = 1.0F;
  std::size_t columns_past_depth = 0;  // level 1: 0 a sum, 1 l, 2 m
};

// The f32 value before the cast, where every step is in f32.
using ContractReplay = Exact (*)(const ElementInput& input, ContractRun& run);

// fa4_splitk_combine and mla_combine, whose sums over real splits alone differ by additions of 0.
Exact replay_global_lse(const ElementInput& input, ContractRun& run);
Exact replay_mla_split_parallel(const ElementInput& input, ContractRun& run);
Exact replay_mha_splitk_reduce(const ElementInput& input, ContractRun& run);
Exact replay_fa4_ws_intracta(const ElementInput& input, ContractRun& run);
Exact replay_fa4_ws_level1(const ElementInput& input, ContractRun& run);
Exact replay_fa4_ws_level2(const ElementInput& input, ContractRun& run);
Exact replay_fa4_ws_two_level(const ElementInput& input, ContractRun& run);

ContractReplay replay_of(KernelId kernel);

}  // namespace lsecheck
