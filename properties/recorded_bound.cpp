#include "properties/recorded_bound.h"

#include <algorithm>
#include <cmath>

#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"

namespace lsecheck {
namespace {

// Sums over the live partitions, one of each per element. All terms but those of `signed_sum` are non-negative.
struct ElementSums {
  std::vector<double> signed_sum;  // power o
  std::vector<double> weighted;    // power abs(o)
  std::vector<double> errors;      // power relative abs(o)
  std::vector<double> magnitude;   // abs(o)
  std::vector<double> largest;     // max abs(o)

  explicit ElementSums(std::size_t depth)
      : signed_sum(depth), weighted(depth), errors(depth), magnitude(depth), largest(depth) {}
};

ElementSums sum_elements(const RowProblem& problem, const RowExponents& row, const ClassErrors& errors) {
  ElementSums sums(problem.depth);
  for (std::size_t i = 0; i < row.live.size(); ++i) {
    const double* o = problem.a.data() + row.live[i] * problem.depth;
    const double power = row.power[i];
    const double error = errors.bounded ? power * errors.relative[i] : 0.0;
    for (std::size_t d = 0; d < problem.depth; ++d) {
      const double magnitude = std::fabs(o[d]);
      sums.signed_sum[d] += power * o[d];
      sums.weighted[d] += power * magnitude;
      sums.errors[d] += error * magnitude;
      sums.magnitude[d] += magnitude;
      sums.largest[d] = std::max(sums.largest[d], magnitude);
    }
  }
  return sums;
}

// Relative error of the sums above and of their quotient by the sum of powers, of non-negative terms (for the signed
// one: relative to the sum of magnitudes). Numerator: a power's error, two products, n additions; denominator:
// row.sum_error; one division. Doubled, which covers the products of these and turns nearest into an upper bound.
double sums_error(const RowExponents& row) {
  return mul_up(2.0, add_up(add_up(kPowerError, row.sum_error), gamma_up(row.live.size() + 4, 0x1p-53)));
}

// Below 2^-1020 powers have an absolute error, and products may underflow.
constexpr double kTiny = 0x1p-1018;

bool may_overflow(const ErrorModel& model, const ClassErrors& errors, const ElementSums& sums, std::size_t d) {
  const double grown_by = mul_up(errors.partial_growth, 1 + 0x1p-30);  // the sums' own error
  switch (model.combine) {
    case CombineClass::flat:  // unnormalised, relative to the maximum
      return mul_up(grown_by, sums.weighted[d]) >= overflow_threshold(model.intermediate);
    case CombineClass::online:  // the running maximum may come last
      return mul_up(grown_by, sums.magnitude[d]) >= overflow_threshold(model.intermediate);
    case CombineClass::pairwise:
      break;
  }
  // Normalised at every node; a merge adds two of them in f32 before it divides.
  const double node = mul_up(grown_by, sums.largest[d]);
  return node >= overflow_threshold(model.intermediate) || 2 * node >= overflow_threshold(DType::f32);
}

void bound_elements(const ErrorModel& model, const RowExponents& row, const ClassErrors& errors,
                    const ElementSums& sums, RecordedRowBound& result) {
  const double relative = sums_error(row);
  for (std::size_t d = 0; d < sums.signed_sum.size(); ++d) {
    const double scale = sums.magnitude[d];
    result.value[d] = sums.signed_sum[d] / row.sum;
    result.value_error[d] = add_up(mul_up(relative, sums.weighted[d] / row.sum), mul_up(kTiny, add_up(1.0, scale)));
    if (!errors.bounded) continue;
    const double weights = mul_up(sums.errors[d] / row.sum, add_up(1.0, relative));
    const double absolute =
        add_up(add_up(mul_up(errors.per_sum, mul_up(scale, 1 + 0x1p-30)), mul_up(errors.per_largest, sums.largest[d])),
               add_up(errors.constant, kTiny));
    const double before_cast = add_up(weights, absolute);
    const double magnitude = add_up(add_up(std::fabs(result.value[d]), result.value_error[d]), before_cast);
    result.bound_before_cast[d] = before_cast;
    // The cast of a subnormal may flush.
    result.bound[d] = add_up(add_up(before_cast, cast_error_up(model.out, magnitude)), 0x1p-126);
    result.may_overflow[d] = may_overflow(model, errors, sums, d);
  }
}

void bound_lse(const ErrorModel& model, const RowExponents& row, const ClassErrors& errors, RecordedRowBound& result) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr double kLn2Up = 0x1.62e42fefa39f0p-1;
  const bool natural = model.base == ExponentBase::natural;
  const double log2_sum = log2_double(row.sum);
  // log2(1 + z) <= 1.5 z; the logarithm's own error; ln2 and its product.
  const double log2_error = add_up(mul_up(2.0, row.sum_error), mul_up(0x1p-48, add_up(1.0, log2_sum)));
  result.lse = row.max + (natural ? log2_sum * kLn2 : log2_sum);
  result.lse_error = add_up(log2_error, mul_up(0x1p-52, std::fabs(result.lse)));
  if (!errors.bounded) return;
  const double computed = natural ? mul_up(errors.lse, kLn2Up) : errors.lse;
  const double magnitude = add_up(add_up(std::fabs(result.lse), result.lse_error), computed);
  // The f32 result's own rounding is in the class's error already.
  const double cast = model.out_lse == DType::f32 ? 0.0 : cast_error_up(model.out_lse, magnitude);
  result.lse_bound = add_up(add_up(computed, cast), 0x1p-126);
}

}  // namespace

RecordedRowBound bound_row(const ErrorModel& model, const RowProblem& problem) {
  const RowExponents row = row_exponents(model.base, problem.x);
  const ClassErrors errors = class_errors(model, row);
  const ElementSums sums = sum_elements(problem, row, errors);
  RecordedRowBound result;
  result.bounded = errors.bounded;
  result.value.resize(problem.depth);
  result.value_error.resize(problem.depth);
  result.bound.resize(problem.depth);
  result.bound_before_cast.resize(problem.depth);
  result.may_overflow.resize(problem.depth);
  result.largest_input = sums.largest;
  bound_elements(model, row, errors, sums, result);
  bound_lse(model, row, errors, result);
  result.weight_is_nonzero.resize(problem.x.size());
  for (std::size_t i = 0; errors.bounded && i < row.live.size(); ++i) {
    const double weight = row.power[i] / row.sum * (1 - 0x1p-30);
    result.weight_is_nonzero[row.live[i]] = weight * (1 - errors.relative[i]) > 2 * errors.weight_absolute;
  }
  return result;
}

}  // namespace lsecheck
