#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "reference/float_format.h"
#include "reference/row_problem.h"

// What is measured on every output element, against the exact value x of its row problem.
namespace lsecheck {

// ulp, scaled_ulp and bound_use are on the grid of metric_grid.h: the decided grid number, so that every reference
// gives the same bytes.
struct ElementGrade {
  double ulp = 0;         // abs(y - x) / ulp_T(x)
  double scaled_ulp = 0;  // abs(y - x) / ulp_T(C), C = sum 2^x_p abs(a_p) / L
  // abs(y - x) / B; B = +inf gives 0, B = 0 gives 0 for y = x and +inf otherwise; +inf where a finite value is due and
  // y is not, or the reverse
  double bound_use = 0;
  double signed_ulp = 0;                // ulp with the sign of y - x: for the distribution of signs
  std::int64_t steps = 0;               // distance in representable values from the correctly rounded x
  std::uint32_t correctly_rounded = 0;  // bits of x rounded to nearest even in T (Inf where that is due)
  bool within_bound = true;             // decided exactly: abs(y - x) <= B
  bool undecided = false;               // the precision cap was reached: an error, never a pass

  bool operator==(const ElementGrade&) const = default;
};

// y is Inf and the bound reaches the overflow threshold: Inf is allowed. Then the metrics are those of the value
// 2^(max_exponent + 1), the number the format would hold next.
struct RowToGrade {
  DType out = DType::f32;
  std::span<const std::uint32_t> out_bits;    // [D], the output elements' bits (16-bit types in the low half)
  std::span<const double> bound;              // [D], absolute bound B >= 0 on abs(y - x)
  std::span<const std::uint8_t> inf_allowed;  // [D] booleans, or empty: the kernel's own partial sums may overflow here
};

// Throws std::invalid_argument when the array sizes do not match.
void check_row_shapes(const RowProblem& problem, const RowToGrade& row, std::size_t num_grades);

class Reference {
 public:
  virtual ~Reference() = default;
  virtual const char* name() const = 0;
  // Grades all D elements. The row has at least one non-empty partition with positive mass, or a sink (L > 0). out_bits
  // hold no NaN (NaN is a matter of the special-value contract, decided before).
  virtual void grade_row(const RowProblem& problem, const RowToGrade& row, std::span<ElementGrade> grades) = 0;
  // log2 L rounded to nearest f32, and an upper bound on abs(that - log2 L).
  struct RoundedLse {
    float lse;
    double error_bound;
  };
  virtual RoundedLse log_sum_exp2(const RowProblem& problem) = 0;
};

// Boost.Multiprecision on MPFR; precision is raised until every question is decided, equality is decided by linear
// independence.
std::unique_ptr<Reference> make_exact_reference();

}  // namespace lsecheck
