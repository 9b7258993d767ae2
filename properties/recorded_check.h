#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/recorded_cause.h"
#include "properties/recorded_error_model.h"
#include "properties/recorded_tensors.h"
#include "reference/grade.h"

// Grades the recorded output of a combine kernel against the exact result, with the bound of its class of algorithms.
// No kernel is run.
namespace lsecheck {

enum class FindingKind : std::uint8_t {
  outside_bound,       // abs(out - exact) > bound
  not_finite,          // NaN or Inf where a finite value is due
  not_nan,             // a finite value where NaN or Inf under a nonzero weight makes NaN or Inf due
  all_empty_not_zero,  // every partition is empty: the output must be zero, out_lse -inf
  undecided,           // the reference reached its precision cap: never a pass
};
std::string_view name_of(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::outside_bound;
  bool is_lse = false;  // of out_lse, not out
  std::uint64_t row_head = 0;
  std::uint64_t depth_index = 0;  // 0 for out_lse
  std::uint32_t got_bits = 0;
  double got = 0;
  double exact = 0;                     // to double precision; NaN where NaN or Inf is due
  std::uint32_t correctly_rounded = 0;  // of out; bits
  double ulp = 0;                       // abs(got - exact) in units of the output type's last place at the exact value
  double bound = 0;
  double bound_use = 0;  // +inf for what is no distance
};

struct CheckReport {
  std::uint64_t rows_heads = 0;
  std::uint64_t all_empty_rows = 0;
  std::uint64_t special_rows = 0;  // NaN or +inf among the LSEs: what is due there is the kernel's policy; not graded
  std::uint64_t unbounded_rows =
      0;  // the class allows any error there (LSEs too large for the error model); not graded
  std::uint64_t graded_elements = 0;  // of out
  std::uint64_t loose_elements = 0;   // of those: the bound exceeds every input, so that the verdict says little
  std::uint64_t graded_lse = 0;
  std::uint64_t failing_elements = 0;  // of out and out_lse
  std::uint64_t failing_rows = 0;
  double largest_bound_use = 0;  // over graded elements of out, finite ones
  std::vector<Finding> worst;    // the kMaxWorst largest bound_use; ties by row, then element
  std::vector<Cause> causes;
  std::uint64_t rows_tried_for_causes = 0;

  static constexpr std::size_t kMaxWorst = 10;
  bool clean() const { return failing_elements == 0; }
};

// Memory that check_recorded takes besides the file: a few rows in double.
std::uint64_t working_bytes(const RecordedTensors& tensors);

// model: base, class and intermediate type; the output types are taken from the tensors.
CheckReport check_recorded(const RecordedTensors& tensors, ErrorModel model, Reference& reference);

}  // namespace lsecheck
