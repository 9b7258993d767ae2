#pragma once

#include <string>

// The axes of the charts that a run fills (results.h): logarithmic bins, decided by exact comparisons.
namespace lsecheck {

// P = 1, 2, 3-4, 5-8, ..., 65-128, 129-256.
int partition_bin(int num_partitions);
std::string partition_bin_label(int bin);

// Bin 0 holds 0, bin b >= 1 the values in (2^(b-5), 2^(b-4)]; bin 1 also what is smaller, the last what is larger.
inline constexpr int kMagnitudeBins = 33;
int magnitude_bin(double value);
std::string magnitude_bin_label(int bin);  // the upper edge: "0", "1/8", "256", "2^20"; the last: "more"

}  // namespace lsecheck
