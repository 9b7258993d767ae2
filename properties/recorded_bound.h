#pragma once

#include <cstdint>
#include <vector>

#include "properties/recorded_error_model.h"
#include "reference/row_problem.h"

// One recorded row: the exact result enclosed in double, and how far a correct kernel of the class may be from it.
namespace lsecheck {

struct RecordedRowBound {
  bool bounded = false;       // false: the class allows errors as large as the numbers here; only the enclosure is set
  std::vector<double> value;  // [D] abs(value - exact) <= value_error
  std::vector<double> value_error;         // [D]
  std::vector<double> bound;               // [D] abs(output - exact) <= bound, the final cast included
  std::vector<double> bound_before_cast;   // [D] the same for what is cast
  std::vector<double> largest_input;       // [D] max abs(o_p)
  std::vector<std::uint8_t> may_overflow;  // [D] an intermediate may pass its type's range: Inf and NaN are possible
  std::vector<std::uint8_t> weight_is_nonzero;  // [P] the computed weight is certainly not 0
  double lse = 0;                               // in the units of the model's base; abs(lse - exact) <= lse_error
  double lse_error = 0;
  double lse_bound = 0;
};

// problem: base as the model's, no masses, no sink, at least one non-empty partition; elements of non-empty partitions
// are finite.
RecordedRowBound bound_row(const ErrorModel& model, const RowProblem& problem);

}  // namespace lsecheck
