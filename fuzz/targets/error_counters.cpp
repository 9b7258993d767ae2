#include "fuzz/targets/error_counters.h"

#include <algorithm>

#include "properties/results.h"

namespace lsecheck::fuzz {
namespace {

constexpr std::size_t kTypes = 3;
constexpr std::size_t kBuckets = kUlpBuckets + kUseBuckets;
static_assert(kUlpBuckets == ErrorHistogram::kBins);

// The section's name is libFuzzer's; without it this is plain memory.
[[gnu::section("__libfuzzer_extra_counters")]] std::uint8_t counters[kKernelCount * kTypes * kBuckets];

}  // namespace

void count_errors(const CaseSpec& spec, const AccuracyMeasurement& measured) {
  double scaled_ulp = -1;
  double bound_use = -1;
  for (std::size_t i = 0; i < measured.grades.grades.size(); ++i) {
    if (!measured.grades.graded[i]) continue;
    scaled_ulp = std::max(scaled_ulp, measured.grades.grades[i].scaled_ulp);
    bound_use = std::max(bound_use, measured.grades.grades[i].bound_use);
  }
  if (scaled_ulp < 0) return;
  const std::size_t of_kernel =
      (static_cast<std::size_t>(spec.kernel) * kTypes + static_cast<std::size_t>(spec.out)) * kBuckets;
  const auto use = static_cast<std::size_t>(std::min(bound_use, 1.0) * static_cast<double>(kUseBuckets - 1));
  counters[of_kernel + static_cast<std::size_t>(ErrorHistogram::bin_of(scaled_ulp))] = 1;
  counters[of_kernel + kUlpBuckets + use] = 1;
}

std::span<const std::uint8_t> error_counters() {
  return counters;
}

}  // namespace lsecheck::fuzz
