#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/safetensors.h"

// What `lsecheck check` reads: the inputs and outputs of somebody's combine kernel, as recorded in one .safetensors
// file.
//
//   lse_partial  [P, rows, heads] or [P, rows_heads]            -inf: empty partition
//   o_partial    [P, rows, heads, D] or [P, rows_heads, D]
//   out          [rows, heads, D] or [rows_heads, D]
//   out_lse      [rows, heads] or [rows_heads], optional
//
// Each of them BF16, F16 or F32.
namespace lsecheck {

struct RecordedTensors {
  std::uint64_t num_partitions = 0;
  std::uint64_t rows_heads = 0;
  std::uint64_t heads = 0;  // 0: o_partial does not tell rows from heads
  std::uint64_t depth = 0;
  const SafetensorsTensor* lse_partial = nullptr;
  const SafetensorsTensor* o_partial = nullptr;
  const SafetensorsTensor* out = nullptr;
  const SafetensorsTensor* out_lse = nullptr;  // nullptr: not recorded

  double lse(std::size_t p, std::size_t rh) const;  // exact
  double o(std::size_t p, std::size_t rh, std::size_t d) const;
  std::uint32_t out_bits(std::size_t rh, std::size_t d) const { return out->bits(rh * depth + d); }

  std::vector<double> row_lse(std::size_t rh) const;  // [P]
  std::vector<double> row_o(std::size_t rh) const;    // [P, D]

  std::string row_text(std::size_t rh) const;  // "row 3 head 1", or "row-head 7"
};

// Points into `file`. Throws FileError (unreadable) naming the tensor that is missing or of another shape.
RecordedTensors recorded_tensors(const SafetensorsFile& file);

}  // namespace lsecheck
