#pragma once

#include <cstdint>
#include <span>

#include "properties/laws.h"

// How large the errors of the input were, in counters that libFuzzer reads beside those of the code: an input whose
// error is larger than any before reaches a new counter and is kept, so that coverage climbs on error.
namespace lsecheck::fuzz {

// Of the largest scaled_ulp: half a binade a bucket; of bound_use: a sixty-fourth.
inline constexpr std::size_t kUlpBuckets = 80;
inline constexpr std::size_t kUseBuckets = 65;

void count_errors(const CaseSpec& spec, const AccuracyMeasurement& measured);

// [kernel][output type][kUlpBuckets + kUseBuckets]; libFuzzer clears them before every input.
std::span<const std::uint8_t> error_counters();

}  // namespace lsecheck::fuzz
