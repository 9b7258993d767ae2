#pragma once

#include <cstdint>
#include <string>

#include "properties/case_tensors.h"

// The rows that certification runs over: those of cases 0, 1, 2, ... of a sequence, kRowsPerCase each. Case n has the
// seed (sequence seed << 32) + n, LSEs of regime narrow, values of regime normal, no empty partition, f32 partials and
// bf16 outputs of fa4_splitk_combine on sm_90. A row is a pure function of its case's seed and its place in the case.
namespace lsecheck::certify {

inline constexpr std::uint32_t kRowsPerCase = 256;
inline constexpr std::uint64_t kMaxRows = std::uint64_t{kRowsPerCase} << 32;

struct Sequence {
  std::uint16_t num_partitions = 37;
  std::uint16_t ov_depth = 128;
  std::uint32_t seed = 1;

  std::uint64_t case_seed(std::uint64_t row) const { return (std::uint64_t{seed} << 32) + row / kRowsPerCase; }
  // The case that holds the row.
  CaseSpec case_of(std::uint64_t row) const;
};

// Rows [first, first + count) side by side, with the bits that expand() gives them in their cases.
CaseTensors draw_rows(const Sequence& sequence, std::uint64_t first, std::uint32_t count);

// "lse1-... row-head 17": what to paste, and where to look.
std::string place_of(const Sequence& sequence, std::uint64_t row);

}  // namespace lsecheck::certify
