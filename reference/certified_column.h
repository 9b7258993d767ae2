#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/certified_exponents.h"
#include "reference/double_double.h"

namespace lsecheck {

// The weights of a row in double-double, 2^(exponent + kWeightScale); those of tiny terms are only known to lie between
// 0 and 1.
struct DoubleDoubleWeights {
  const RowExponents* exponents = nullptr;
  std::vector<DoubleDouble> weight;    // [size()]; {0, 0} for tiny terms
  std::vector<std::uint8_t> is_exact;  // [size()]; a power of two
  double sum_error = 0;                // of sum w c, for any c, in units of sum w abs(c): tiny terms apart

  // False when the exponents are too coarse, or too many.
  bool compute(const RowExponents& row);
};

// The sums of a column in the scale of the weights; `below` and `above` is what tiny terms may take away or add.
struct ColumnSums {
  DoubleDouble sum;
  DoubleDouble size;  // sum w abs(value)
  double below = 0;
  double above = 0;
};

// values: one per term, finite or not.
ColumnSums sum_column(const DoubleDoubleWeights& weights, std::span<const double> values);

// The sign of x - t for x = N / L and the number t = hi + lo: that of sum w (a - t l), whose coefficients are formed
// exactly, so that terms which agree with t drop out whatever their weights are, and what is left decides. nullopt:
// open.
std::optional<int> side_of(const DoubleDoubleWeights& weights, std::span<const double> values, DoubleDouble t);

}  // namespace lsecheck
