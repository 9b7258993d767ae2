#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sfu/sfu.h"

// How far the FA4 combine's computed weights can be from the true ones, on one row: the shared part of its bound and of
// its special-value contract.
namespace lsecheck::sm100 {

// Whether the computed weight is zero (flushed below 2^-126): certain either way, or within the weight's own error of
// the threshold.
enum class WeightFate : std::uint8_t { empty, nonzero, zero, either };

struct Fa4PartitionWeight {
  double weight_up = 0;       // >= the true weight 2^x_p / L
  double weight_near = 0;     // the true weight to within kWeightNearError relative
  double relative_error = 0;  // abs(computed - true) <= this * true
  WeightFate fate = WeightFate::empty;
};
inline constexpr double kWeightNearError = 0x1p-38;

// x: [P] LSEs, log2 domain, -inf for empty partitions, no NaN or +inf, at least one finite.
std::vector<Fa4PartitionWeight> fa4_weight_errors(std::span<const double> x, const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
