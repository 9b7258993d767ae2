#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/two_partition/column_tally.h"
#include "kernels/two_partition/two_partition_verdict.h"
#include "reference/grade.h"

// Every weight that a combine can produce at P = 2: lse_0 = 0, lse_1 every f32 (or every stride-th bit pattern), and
// the value pairs of value_pair(), with f32 partials and an f32 output, each output element certified.
namespace lsecheck::two_partition {

std::string_view name_of(Kernel kernel);  // as registered

struct Failure {
  OpenElement element;
  ElementGrade grade;  // of a wrong class (NaN or Inf in place of a finite value, or the reverse): as it stands
  bool wrong_class = false;
};

struct SweepResult {
  std::uint64_t rows = 0;
  std::uint64_t nan_rows = 0;  // of those, where lse_1 makes every output NaN
  std::array<ColumnTally, kValuePairs> columns;
  std::vector<Failure> failures;  // by lse bits and column, the first kMaxFailures
  std::uint64_t failure_count = 0;
};
inline constexpr std::size_t kMaxFailures = 16;

// lse_1 has the bits 0, stride, 2 * stride, ... below 2^32; stride >= 1. On the cpu backend (unit h200, sm_90) the
// certified reference grades everything, on the cuda backend what the device leaves open. Throws DeviceError
// (cuda_backend.h), and std::runtime_error with one line where the sweep itself cannot be trusted.
SweepResult sweep(Kernel kernel, Backend backend, std::uint64_t stride);

}  // namespace lsecheck::two_partition
