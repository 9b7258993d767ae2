#pragma once

#include <cstdint>
#include <vector>

#include "properties/case_spec.h"

// A case as the kernel sees it. Layouts are production's: lse_partial [P, rows, heads], o_partial [P, rows, heads,
// ov_depth], partition outermost. A row-head index is rh = row * heads + head.
namespace lsecheck {

struct CaseTensors {
  CaseSpec spec;  // shape, types, kernel, arch, unit; after value shrinking the tensors no longer follow from it

  // [P * rows_heads], in the form spec.exponent. -inf: empty partition, unless the kernel marks those by a mass of 0.
  std::vector<float> lse_partial;
  std::vector<std::uint32_t>
      o_partial;  // [P * rows_heads * ov_depth], bits of spec.partial (16-bit types in the low half)

  std::vector<float> attention_sink = {};  // [heads], natural log, finite or -inf; empty: none

  std::vector<float> mass_partial = {};  // [P * rows_heads]; empty: the kernel takes none
  float exponent_scale = 1.0F;           // of ExponentForm::scaled: positive, finite, normal

  std::size_t lse_index(std::size_t p, std::size_t rh) const { return p * spec.rows_heads() + rh; }
  std::size_t o_index(std::size_t p, std::size_t rh, std::size_t d) const {
    return (p * spec.rows_heads() + rh) * spec.ov_depth + d;
  }
};

}  // namespace lsecheck
