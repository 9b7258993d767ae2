#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/recorded_error_model.h"
#include "properties/recorded_tensors.h"

// Likely causes of rows that leave their bound: known mistakes, each recomputed in full and named only when every
// element of the recorded row lies within the bound of that mistake's own exact result.
namespace lsecheck {

struct Cause {
  std::string text;  // one line
  std::uint64_t rows_fit = 0;
};

// Collects failing rows and says at the end what they have in common. The first kMaxRows are looked at, or fewer when
// rows are long: each costs its partitions squared times its depth.
class CauseFinder {
 public:
  static constexpr std::uint64_t kMaxRows = 64;
  static constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 31;

  CauseFinder(const ErrorModel& model, const RecordedTensors& tensors);

  // A row with a non-empty partition and LSEs that are neither NaN nor +inf; x [P], o [P, D] of it. Elements where a
  // live partition's O is not finite are left out of every comparison.
  void add_failing_row(std::size_t rh, const std::vector<double>& x, const std::vector<double>& o);
  void add_all_empty_row(bool holds_nan);
  // out_lse beyond its bound; the exact LSE within error, and the bound.
  void add_failing_lse(double got, double exact, double tolerance);

  std::uint64_t rows_tried() const { return rows_tried_; }
  // By rows_fit, most first. Of the mistakes in the weights, when some fit every row looked at, only those: the others
  // fit by chance.
  std::vector<Cause> causes() const;

 private:
  // A mistake made with one partition: which partition explains how many rows.
  struct ByPartition {
    std::uint64_t rows = 0;
    std::vector<std::uint64_t> rows_of;  // [P]
  };
  struct Row;

  void try_other_base(const Row& row);
  void try_equals_input(const Row& row);
  void try_without(const Row& row);
  void try_twice(const Row& row);
  void try_unweighted(const Row& row);
  void try_leak(const Row& row);
  bool fits(const Row& row, const std::vector<double>& x, const std::vector<double>& o, ExponentBase base) const;
  std::string text_of(const char* what, const ByPartition& found) const;

  ErrorModel model_;
  const RecordedTensors& tensors_;
  std::uint64_t rows_tried_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t other_base_ = 0, sum_ = 0, mean_ = 0, leak_ = 0, empty_nan_ = 0, empty_nonzero_ = 0, lse_base_ = 0;
  ByPartition equals_, without_, twice_;
};

}  // namespace lsecheck
