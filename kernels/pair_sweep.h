#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/backend.h"
#include "kernels/pair_verdict.h"

// A combine kernel at P = 2 over every f32 (or every stride-th one) as lse_1, lse_0 = 0, f32 partials and output: the
// largest error of each column of pair_verdict.h.
namespace lsecheck {

struct PairMaximum {
  float scaled_ulp = 0;          // the largest upper bound
  std::uint32_t lse_1_bits = 0;  // where; of equal ones the largest bits
};

struct PairSweepResult {
  std::uint64_t finite = 0;                        // lse_1 values swept
  std::uint64_t special = 0;                       // of them not finite
  std::uint64_t special_violations = 0;            // that do not give what the contract says
  std::uint64_t column_mismatches = 0;             // rows whose columns of equal values differ
  std::array<PairMaximum, kPairColumns> ordinary;  // over abs(lse_1) <= 100
  std::array<PairMaximum, kPairColumns> all;       // over every finite lse_1
};

inline constexpr float kPairOrdinary = 100.0F;

// kernel: fa4_splitk_combine (run-time P) or mla_combine_split_parallel. On cuda stride is 1 and DeviceError is thrown
// for trouble with the device; on cpu the executor runs with sfu h200 as sm_90.
PairSweepResult sweep_pairs_on_cpu(std::string_view kernel, std::uint32_t stride);
namespace cuda {
PairSweepResult sweep_pairs(std::string_view kernel);
}

}  // namespace lsecheck
