#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/float_format.h"
#include "reference/row_problem.h"

// The a-priori error of whole classes of combine algorithms, for outputs of a kernel that is not at hand. The bound is
// the worst case over every member of the class and every order of summation, so no correct kernel of the class leaves
// it.
//
// Common to all classes: f32 arithmetic rounded to nearest, fused or not, denormals kept or flushed; exp2, log2 and
// reciprocal within the PTX ISA's accuracy (sfu::accuracy_of(spec)), or better; exp(z) as ex2(z log2e), log as lg2
// times ln2; with natural-log input the LSEs are used as they are, or multiplied by log2e first, or inside a fused
// multiply-add. The result is cast to the output type by rounding to nearest.
//
//   flat      weights exp(x_p - m) over their sum, with m the maximum; or exp(x_p - LSE) with the global LSE. Sums in
//   any order. online    a running maximum; the accumulator and the sum are rescaled at every partition; up to 256
//   workers may each take a share and
//             merge their (m, l, acc) in a tree. Normalised by division or through the LSE.
//   pairwise  any binary tree of merges of normalised (O, LSE) pairs.
//
// The intermediate type: what a number is stored in between two steps. flat and online: the weights, the products, and
// the accumulator and the sum after every addition (maxima, differences and the LSE stay f32). pairwise: O and LSE
// after every merge.
namespace lsecheck {

enum class CombineClass : std::uint8_t { flat = 0, online = 1, pairwise = 2 };

std::string_view name_of(CombineClass combine);  // "flat", ...
std::optional<CombineClass> parse_combine_class(std::string_view name);

struct ErrorModel {
  ExponentBase base = ExponentBase::log2;
  CombineClass combine = CombineClass::flat;
  DType intermediate = DType::f32;
  DType out = DType::f32;
  DType out_lse = DType::f32;
};

// The exponents of one row. Powers are relative to the maximum: 2^t_p with t_p = kappa (x_p - max) <= 0, kappa = 1 or
// log2 e.
struct RowExponents {
  std::size_t num_partitions = 0;  // P, empty ones included
  std::vector<std::size_t> live;   // the n non-empty partitions; the vectors below follow it
  double max = 0;                  // in the units of the base
  double largest_magnitude = 0;    // of the live x_p
  std::vector<double> below_max;   // [n] >= -t_p
  std::vector<double> power;       // [n] 2^t_p within kPowerError relative, or 2^-1020 absolute
  double sum = 0;                  // of power; its relative error is below sum_error
  double sum_error = 0;
};
inline constexpr double kPowerError = 0x1p-40;

// The x_p are neither NaN nor +inf and at least one is above -inf.
RowExponents row_exponents(ExponentBase base, std::span<const double> x);

// What an element's error is made of: with s = sum abs(o_p), o = max abs(o_p) over the live partitions,
//   abs(computed - exact) <= sum_p w_p relative_p abs(o_p) + per_sum s + per_largest o + constant      (before the
//   final cast)
struct ClassErrors {
  bool bounded = false;          // false: errors as large as the numbers are possible; nothing else is set then
  std::vector<double> relative;  // [n] of weight p with all that multiplies it
  double per_sum = 0;
  double per_largest = 0;
  double constant = 0;
  double weight_absolute = 0;  // a computed weight is at least w_p (1 - relative_p) - weight_absolute
  double partial_growth = 1;   // computed partial sums are at most this times their exact value
  double lse = 0;              // of the computed LSE, log2 units, before it is stored in out_lse
};

ClassErrors class_errors(const ErrorModel& model, const RowExponents& row);

}  // namespace lsecheck
