#pragma once

#include <bit>
#include <cstdint>

// The grid on which ulp, scaled_ulp and bound_use are reported. A metric is a real number; which grid number stands for
// it is decided, never rounded, so that every implementation of the reference reports the same bytes.
//
//   v <= 2^-16      0
//   otherwise       v rounded up to a multiple of 2^(e-10) for 2^e <= v < 2^(e+1), e >= 0 (1/1024 relative),
//                   of 2^-10 from 2^-7 on (1/1024 absolute), of 2^(e-3) below (1/8 relative)
//
// 1 is on the grid: bound_use is at most 1 exactly when the bound holds.
namespace lsecheck {

inline constexpr double kMetricZero = 0x1p-16;  // the largest value that is reported as 0

// The bits of v that lie between grid numbers in v's binade, v > 0: 42 of 52 from 1 on, one more per binade below, at
// most 49.
constexpr int metric_grid_free_bits(double v) {
  const int below_one = 1023 - static_cast<int>(std::bit_cast<std::uint64_t>(v) >> 52);
  return 42 + (below_one < 0 ? 0 : below_one > 7 ? 7 : below_one);
}

// The grid number that stands for v >= 0; +inf above the largest one.
constexpr double metric_on_grid(double v) {
  if (v <= kMetricZero) return 0;
  const std::uint64_t between = (std::uint64_t{1} << metric_grid_free_bits(v)) - 1;
  // Carrying into the exponent field gives the next binade's first number, and +inf stays +inf.
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(v) + between) & ~between);
}

// The largest v that `on_grid` stands for.
constexpr double metric_cell_top(double on_grid) {
  return on_grid == 0 ? kMetricZero : on_grid;
}

// The grid number after `on_grid`, which is finite.
constexpr double metric_grid_next(double on_grid) {
  const double top = metric_cell_top(on_grid);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(top) + (std::uint64_t{1} << metric_grid_free_bits(top)));
}

// scaled_ulp from ulp: ratio = ulp_T(x) / ulp_T(C), a power of two at most 1. Dividing by a power of two maps every
// grid number that is an end of a cell of the quotient to an end of a cell, because cells do not get narrower,
// relatively, as values shrink. So the quotient of the reported ulp falls into the cell of the quotient itself.
constexpr double metric_scaled(double ulp_on_grid, double ratio) {
  return metric_on_grid(ulp_on_grid * ratio);
}

}  // namespace lsecheck
