#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/exact_terms.h"

// sum_i c_i E_i / E_reference with a proven radius, at a level of the precision ladder. The first level is fixed-point
// integer arithmetic (a few ns a term), the others are MPFR.
namespace lsecheck {

struct TermSums {
  Ball value;      // sum c_i w_i
  Ball magnitude;  // sum abs(c_i) w_i

  explicit TermSums(mpfr_prec_t precision) : value(precision), magnitude(precision) {}
};

class TermSummer {
 public:
  // terms must outlive the summer.
  TermSummer(ExactTerms& terms, std::size_t reference) : terms_(terms), reference_(reference) {}

  // coefficients: one per term, finite.
  TermSums sum(std::span<const double> coefficients, std::size_t level);

 private:
  // A weight as an integer: w = (high * 2^64 + low) * 2^(exponent - 128), high >= 2^63; within 2^(exponent - 127) when
  // not exact.
  struct FixedWeight {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::int64_t exponent = 0;
    Weight::State state = Weight::State::unset;
    bool exact = false;
  };

  const FixedWeight& fixed_weight(std::size_t i);
  TermSums sum_fixed(std::span<const double> coefficients);
  TermSums sum_mpfr(std::span<const double> coefficients, std::size_t level);
  void add_negligible(std::span<const double> coefficients, std::size_t level, TermSums& sums);

  ExactTerms& terms_;
  std::size_t reference_;
  std::vector<FixedWeight> fixed_;
  bool any_negligible_ = false;
};

}  // namespace lsecheck
