#include "properties/chart_bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace lsecheck {
namespace {

// The upper edge of bin b is 2^(b - kBinOfOne).
constexpr int kBinOfOne = 4;

}  // namespace

int partition_bin(int num_partitions) {
  return std::bit_width(static_cast<unsigned>(num_partitions - 1));
}

std::string partition_bin_label(int bin) {
  const int last = 1 << bin;
  return bin < 2 ? std::to_string(last) : fmt::format("{}-{}", last / 2 + 1, last);
}

int magnitude_bin(double value) {
  if (value == 0) return 0;
  if (!std::isfinite(value)) return kMagnitudeBins - 1;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1): ceil(log2) is exponent, or one less
  return std::clamp(exponent - (fraction == 0.5 ? 1 : 0) + kBinOfOne, 1, kMagnitudeBins - 1);
}

std::string magnitude_bin_label(int bin) {
  if (bin == 0) return "0";
  if (bin == kMagnitudeBins - 1) return "more";
  const int exponent = bin - kBinOfOne;
  if (exponent < 0) return fmt::format("1/{}", 1 << -exponent);
  return exponent <= 10 ? std::to_string(1 << exponent) : fmt::format("2^{}", exponent);
}

}  // namespace lsecheck
