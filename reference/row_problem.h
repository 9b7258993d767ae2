#pragma once

#include <optional>
#include <span>

// One output row of the family in its general form (shapes: P partitions, D depth elements).
//
//   L = sum_p 2^x_p * l_p  (+ e^sink),   N[d] = sum_p 2^x_p * a_p[d],   out[d] = N[d] / L,   lse = log2 L
//
// Every input is an exact dyadic number: f32 values and products of two f32 values are exact in double.
// x_p is in the log2 domain when base is log2, in the natural domain (2^x becomes e^x) when base is natural.
// x_p = -inf marks an empty partition: it contributes nothing and its l_p and a_p are never looked at.
// x_p must not be NaN or +inf, and l_p, a_p of non-empty partitions must be finite: special values are decided by the
// kernel's contract before a row reaches the reference.
namespace lsecheck {

enum class ExponentBase { log2, natural };

struct RowProblem {
  ExponentBase base = ExponentBase::log2;
  std::span<const double> x;   // [P]
  std::span<const double> l;   // [P], or empty: every mass is 1
  std::span<const double> a;   // [P, D], row-major
  std::size_t depth = 0;       // D
  std::optional<double> sink;  // natural log
};

}  // namespace lsecheck
