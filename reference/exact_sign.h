#pragma once

#include <map>
#include <span>

#include "reference/exact_sums.h"
#include "reference/exact_terms.h"

namespace lsecheck {

// The number hi + lo * factor, exactly.
struct Target {
  double hi;
  double lo = 0;
  double factor = 1;
};

// Which side of a number t the quotient N / L lies on, decided without any tolerance.
//
// N - t L = sum_i c_i E_i with the exponentials E_i of the terms and the exact dyadic coefficients c_i = numerator_i -
// t mass_i. The sum is zero exactly when, in every class of terms (exact_terms.h), the coefficients weighted by
// 2^integer_part add up to zero:
//   * 2^(j / 2^n), 0 <= j < 2^n, are linearly independent over the rationals, since X^(2^n) - 2 is irreducible
//   (Eisenstein at 2): so are
//     the 2^f of distinct dyadic fractions f, which covers the log2 terms;
//   * e^v of distinct algebraic v are linearly independent over the algebraic numbers (Lindemann-Weierstrass). All log2
//   terms together
//     are an algebraic multiple of e^0, and natural terms have v != 0.
// Once it is known not to be zero, raising the precision ends.
class ExactSign {
 public:
  // terms must outlive this.
  explicit ExactSign(ExactTerms& terms) : terms_(terms) {}

  // N == t L. numerators: one per term.
  bool is_equal(std::span<const double> numerators, Target t);

  // The sign of N - t L. Throws PrecisionCapReached when the last level of the ladder cannot tell.
  int compare(std::span<const double> numerators, Target t);

 private:
  ExactTerms& terms_;
  std::map<std::size_t, TermSummer> summers_;  // by reference term
};

}  // namespace lsecheck
