#pragma once

#include <cstdint>

namespace lsecheck::cli {

// Prints the largest scaled_ulp that the hunter finds beside the largest of as many random rows, and the share of the
// bound that it reaches for every registered kernel and regime. f32 output: the value before the cast.
void bench_hunt(std::uint64_t evaluations);

}  // namespace lsecheck::cli
