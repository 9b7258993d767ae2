#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reference/exact_number.h"
#include "reference/row_problem.h"

// The exponentials of a row: 2^x_p or e^x_p of every non-empty partition and e^sink, as exact exponents, and as numbers
// at the levels of a precision ladder.
namespace lsecheck {

inline constexpr std::array<mpfr_prec_t, 6> kPrecisionLadder{128, 256, 512, 1024, 2048, 4096};

// A weight below 2^-kNegligibleBits of its reference is not computed; it stands for the interval [0,
// 2^-kNegligibleBits]. MPFR's default exponents reach 2^30, so that products of such weights with any double, or with a
// sum of the sign decision, stay in range.
inline constexpr long kNegligibleBits = 1L << 28;

enum class TermBase : bool { log2, natural };

struct Term {
  TermBase base;
  double x;               // the term is 2^x or e^x; natural with x = 0 is stored as log2 with x = 0
  double mass;            // l_p, or 1 for the sink
  std::size_t partition;  // kNoPartition for the sink
};
inline constexpr std::size_t kNoPartition = static_cast<std::size_t>(-1);

// A term's exponential divided by that of a reference term.
struct Weight {
  enum class State : unsigned char { unset, value, negligible };
  State state = State::unset;
  bool exact = false;  // value is the exact weight; otherwise abs(value - weight) <= 2 * 2^-precision * weight
  Mp value;
};

// Terms whose exponentials are rational multiples of each other. Exponentials of different classes are linearly
// independent over the rationals (see exact_sign.h).
struct TermClass {
  struct Member {
    std::size_t term;
    MpInteger integer_part;  // exponent relative to the class (log2), 0 for natural terms
  };
  std::vector<Member> members;  // integer_part descending
};

class ExactTerms {
 public:
  // Throws std::invalid_argument when an input is outside the domain that row_problem.h states.
  explicit ExactTerms(const RowProblem& problem);
  explicit ExactTerms(std::vector<Term> terms) : terms_(std::move(terms)) {}

  std::size_t size() const { return terms_.size(); }
  const Term& operator[](std::size_t i) const { return terms_[i]; }
  const std::vector<Term>& all() const { return terms_; }

  // Index of the largest exponential among the given terms; within 2^-60 relative where log2 and natural terms meet.
  std::size_t dominant(std::span<const std::size_t> among) const;

  // Term i divided by term `reference`, to kPrecisionLadder[level] bits; computed on first use. The exponent of i must
  // not exceed that of the reference by more than kNegligibleBits.
  const Weight& weight(std::size_t reference, std::size_t level, std::size_t i);

  const std::vector<TermClass>& classes();

 private:
  void compute_weight(std::size_t reference, mpfr_prec_t precision, std::size_t i, Weight& weight) const;
  void build_classes();

  std::vector<Term> terms_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Weight>> weights_;
  std::vector<TermClass> classes_;
};

// The exponent of `term` in log2 units, x or x * log2 e, minus that of `reference` (none: zero), to an absolute error
// of at most 2^-absolute_bits; exact (and reported so) when no natural logarithm is involved.
struct ExponentDifference {
  Mp value;
  bool exact;
};
ExponentDifference exponent_difference(const Term& term, const Term* reference, long absolute_bits);

}  // namespace lsecheck
