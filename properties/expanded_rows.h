#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "properties/case_expand.h"
#include "reference/float_format.h"

// How the tests of the regimes look at an expanded case: row by row.
namespace lsecheck::expanded {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline CaseSpec base_spec() {
  CaseSpec spec;
  spec.num_partitions = 37;
  spec.rows = 6;
  spec.heads = 3;
  spec.ov_depth = 64;
  spec.seed = 20;
  return spec;
}

inline std::vector<float> row_lse(const CaseTensors& tensors, std::size_t rh) {
  std::vector<float> lse;
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    lse.push_back(tensors.lse_partial[tensors.lse_index(p, rh)]);
  }
  return lse;
}

inline std::vector<double> row_values(const CaseTensors& tensors, std::size_t rh, std::size_t p) {
  std::vector<double> values;
  for (std::size_t d = 0; d < tensors.spec.ov_depth; ++d) {
    values.push_back(decode(tensors.spec.partial, tensors.o_partial[tensors.o_index(p, rh, d)]));
  }
  return values;
}

inline bool empty(float lse) {
  return lse == -kInfinity;
}

inline std::size_t count_empty(const std::vector<float>& lse) {
  return static_cast<std::size_t>(std::count_if(lse.begin(), lse.end(), empty));
}

// Whether some row of some seed satisfies the predicate on its LSEs: for the classes a regime has to reach.
template <typename Predicate>
inline bool reached(CaseSpec spec, Predicate predicate) {
  for (spec.seed = 0; spec.seed < 40; ++spec.seed) {
    const CaseTensors tensors = expand(spec);
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      if (predicate(row_lse(tensors, rh))) return true;
    }
  }
  return false;
}

inline float largest(const std::vector<float>& lse) {
  return *std::max_element(lse.begin(), lse.end());
}

inline float spread(const std::vector<float>& lse) {
  return largest(lse) - *std::min_element(lse.begin(), lse.end());
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

}  // namespace lsecheck::expanded
