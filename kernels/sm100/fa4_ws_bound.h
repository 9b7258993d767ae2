#pragma once

#include <span>
#include <vector>

#include "kernels/combine_kernel.h"
#include "kernels/sm100/fa4_weight_error.h"
#include "kernels/sm100/fa4_ws_instantiation_table.h"

// The a-priori bounds of the in-CTA combine levels on one row, and the parts of them that decide special values.
// Derived in fa4_ws_bound.cpp. M is the reference exponent that the kernel forms, T_p = 2^((m_p - M) * scale).
namespace lsecheck::sm100 {

struct Fa4WsPath {
  WeightFate fate = WeightFate::empty;
  double weight_near = 0, weight_margin = 0;  // abs(T_p - near) <= margin
  double weight_up() const;
  double first_weight_up = 0;  // >= the weight in the first level that p enters
  double value_error = 0;      // what enters the sum of values is T_p (1 +- this), all roundings included
  double mass_error = 0;       // likewise for the sum of masses
};

struct Fa4WsErrors {
  float m = 0;  // M; -inf: no partition has a key
  std::vector<Fa4WsPath> paths;
  double value_absolute = 0;  // on top of the relative errors, in a sum with a value that is not 0
  double mass_absolute = 0;
  double mass_flushed = 0;  // what a mass that is not 0 may lose besides
};

// m: [P], no NaN or +inf. shape gives the exponent form and its scale. Where a warpgroup alone reaches level 2 (P = 1)
// m does not matter.
Fa4WsErrors fa4_ws_errors(Fa4WsLevel level, const CombineShape& shape, std::span<const float> m,
                          const sfu::UnitAccuracy& unit);

// L = sum T_p l_p and what the kernel computes for it, l: [P], >= 0 and finite where m_p > -inf.
struct Fa4WsMass {
  double low = 0, up = 0;                    // of L
  double error = 0;                          // abs(computed - L), unless it overflows
  double computed_low = 0, computed_up = 0;  // of the computed one; low may be negative where the error is larger
  bool may_overflow = false;                 // a partial sum may reach Inf
  bool half_may_overflow = false;            // that of the first or of the second half of the partitions alone
};
Fa4WsMass fa4_ws_mass_range(const Fa4WsErrors& errors, std::span<const double> l);

// A[d] = sum T_p a_p[d] and what the kernel computes for it, a: [P, stride], the first `depth` columns.
struct Fa4WsSums {
  std::vector<double> near, margin;  // [depth] abs(A - near) <= margin
  std::vector<double> error;         // abs(computed - A), unless it overflows; 0 where every value is 0
  std::vector<std::uint8_t> may_overflow;
};
Fa4WsSums fa4_ws_sums(const Fa4WsErrors& errors, std::span<const double> a, std::size_t stride, std::size_t depth);

// row: as fa4_ws_expectation makes it. Elements are bounded where a finite value alone is due.
RowBound fa4_ws_row_bound(Fa4WsLevel level, const CombineShape& shape, const RowExpectation& row,
                          const sfu::UnitAccuracy& unit);

}  // namespace lsecheck::sm100
