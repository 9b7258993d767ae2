#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/two_partition/column_tally.h"
#include "kernels/two_partition/two_partition_verdict.h"

// The sweep of two_partition_sweep.h on the device: rows are made, combined by the production kernel and certified
// there; what stays open comes back.
namespace lsecheck::cuda {

struct TwoPartitionSweep {
  std::array<two_partition::ColumnTally, kValuePairs> columns;  // of what the device decided
  std::vector<two_partition::OpenElement> open;                 // in no order; at most kMaxOpen
  std::uint64_t open_count = 0;
};
inline constexpr std::uint64_t kMaxOpen = std::uint64_t{1} << 24;

// Throws DeviceError.
TwoPartitionSweep sweep_two_partitions(two_partition::Kernel kernel, std::uint64_t stride);

}  // namespace lsecheck::cuda
