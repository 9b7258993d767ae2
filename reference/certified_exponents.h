#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "reference/row_problem.h"

namespace lsecheck {

// The non-empty terms of a row (partitions in order, then the sink) with their exponents in log2 units relative to a
// reference R that no term exceeds by more than rounding: exponent = log2 of the term's exponential, minus R.
//
// Each is an unevaluated sum hi + lo, abs(lo) <= 2^-42 where hi >= kLeastExponent, off from the true one by at most
// kExponentError, or, when is_sharp is false, by kCoarseExponentError. A term below kLeastExponent is only known to be
// there: its weight lies in (0, 2^kLeastExponent).
class RowExponents {
 public:
  static constexpr double kLeastExponent = -700;
  static constexpr double kExponentError = 0x1p-93;
  static constexpr double kCoarseExponentError = 0x1p-60;
  static constexpr std::size_t kNoPartition = std::numeric_limits<std::size_t>::max();

  // False when the row is outside the domain of row_problem.h, has no term, or its exponents cannot be formed this
  // well.
  bool build(const RowProblem& problem);

  std::size_t size() const { return size_; }
  bool is_sharp() const { return is_sharp_; }
  bool is_tiny(std::size_t i) const { return hi[i] < kLeastExponent; }
  bool is_plain() const { return is_plain_; }  // every mass is 1 and there is no sink
  // hi + lo is the true exponent.
  bool is_exact(std::size_t i) const {
    return !is_shifted_ && !is_tiny(i) && (is_natural_ ? hi[i] == 0 && lo[i] == 0 : partition[i] != kNoPartition);
  }

  // [size()], followed by padding up to a multiple of four: exponents of 0, masses of 0.
  std::vector<double> hi;
  std::vector<double> lo;
  std::vector<double> mass;
  std::vector<std::size_t> partition;  // kNoPartition: the sink

 private:
  bool gather(const RowProblem& problem);
  void append(double x, double mass, std::size_t partition);
  bool relate(double sink);

  std::size_t size_ = 0;
  bool is_sharp_ = true;
  bool is_plain_ = true;
  bool is_natural_ = false;
  bool is_shifted_ = false;  // the sink is the reference
};

}  // namespace lsecheck
