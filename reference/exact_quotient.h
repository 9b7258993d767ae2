#pragma once

#include <cstdint>
#include <span>

#include "reference/exact_sign.h"
#include "reference/exact_terms.h"
#include "reference/float_format.h"

namespace lsecheck {

// n / l for l > 0 not containing zero, at the precision of n.mid.
Ball quotient(const Ball& n, const Ball& l);

// x truncated to a double, whose last bit is set when x is not a double. Rounding that to any of the types gives what
// rounding x itself gives: the double has more than two bits to spare, so the set bit keeps x's side of every midpoint.
double round_to_odd(const Mp& x);

// N / L of one column: a ball around it, and the exact decision behind it for questions that the ball leaves open.
class ExactQuotient {
 public:
  // sign and numerators must outlive the quotient.
  ExactQuotient(ExactSign& sign, std::span<const double> numerators, Ball ball);

  const Ball& ball() const { return ball_; }
  // The ball holds at most one midpoint and one binade boundary of the type: rounded() and ulp() may be asked.
  bool is_narrow(DType type) const;

  bool equals(Target t) const;
  int compare(Target t) const;              // the sign of N/L - t
  std::uint32_t rounded(DType type) const;  // to nearest even
  double ulp(DType type) const;             // ulp_at of the exact value

 private:
  ExactSign& sign_;
  std::span<const double> numerators_;
  Ball ball_;
  Mp low_, high_;  // the ball's ends, rounded outward
};

}  // namespace lsecheck
