#include "reference/certified_double.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/certified_double_grade.h"
#include "reference/certified_weight.h"

// N, L and C = sum w abs(a) in double, with one relative radius per row. u = 2^-53.
//
// weight    kWeightError = 3 u, less than 2.7 u of which are used; kCoarseExponentError is below the rest
// N, C      blocks of kBlock products by fma, the blocks added up: a product passes at most kBlock + blocks roundings.
//           Each partial sum is at most that of the magnitudes, so that N is off by (3 + kBlock + blocks) u C (1 + ..).
// L         products w l: u; pairwise sums: log2 of the number of terms, rounded up, times u. All terms are >= 0, so
// this
//           is relative. Tiny terms are left out: 2^-700 of their mass.
// x, C / L  one rounding each for 1 / L and the product.
// ends      the radius is added and taken away with one rounding each: at most u C / L, as abs(N) <= C also as computed
//           (by monotonicity of every rounding).
// With k = the sum of these counts plus one for C / L standing in for its exact value, the radius is below
// k u (1 + k u) C / L; the factor 1.03 covers the second order (k < 2^40) and the roundings of the radius itself.
//
// Underflow: weights are scaled so that all are >= 0.9 (terms below 2^-700 are tiny), so a product with a value other
// than 0 is never 0, C = 0 means that every value is 0, and what underflow takes from a sum is below 2^-1074 a
// rounding. Divided by L >= 2^300 that is far below floor_ = 2^-1000, as is the underflow of x itself.
//
// Overflow or NaN among the values makes C so, and no question about C is then answered.
namespace lsecheck {
namespace {

constexpr std::size_t kBlock = 8;
constexpr std::size_t kColumns = 16;  // that sum_columns takes at a time
constexpr double kUnit = 0x1p-53;

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Four columns of sum w a and of sum w abs(a).
struct Sums4 {
  Vector4 sum = splat(0), size = splat(0);

  void add_product(Vector4 w, const double* values) {
    const Vector4 value = load4(values);
    sum = fma(w, value, sum);
    size = fma(w, abs4(value), size);
  }
  void add_to(double* to_sum, double* to_size) const {
    store4(to_sum, load4(to_sum) + sum);
    store4(to_size, load4(to_size) + size);
  }
};

// Adds the products of one block of partitions to kColumns columns. The sums are named one by one to stay in registers:
// eight independent chains keep both fma units busy.
void add_block(const double* a, std::span<const double> weights, std::span<const std::size_t> starts, double* sum,
               double* size) {
  static_assert(kColumns == 16);
  Sums4 first, second, third, fourth;
  for (std::size_t p = 0; p < weights.size(); ++p) {
    const Vector4 w = splat(weights[p]);
    const double* values = a + starts[p];
    first.add_product(w, values);
    second.add_product(w, values + 4);
    third.add_product(w, values + 8);
    fourth.add_product(w, values + 12);
  }
  first.add_to(sum, size);
  second.add_to(sum + 4, size + 4);
  third.add_to(sum + 8, size + 8);
  fourth.add_to(sum + 12, size + 12);
}

}  // namespace

void DoubleTier::list_rows(const RowProblem& problem, const RowExponents& exponents) {
  row_weight_.clear();
  row_start_.clear();
  tiny_start_.clear();
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    if (exponents.partition[i] == RowExponents::kNoPartition) continue;
    const std::size_t start = exponents.partition[i] * problem.depth;
    if (exponents.is_tiny(i)) {
      tiny_start_.push_back(start);
    } else {
      row_weight_.push_back(weight_[i]);
      row_start_.push_back(start);
    }
  }
}

// The weights, 1 / L and the row's radius; false when L is not of a size that the derivation above covers.
bool DoubleTier::weigh(const RowExponents& exponents) {
  const std::size_t padded = round_up(exponents.size(), 4);
  const std::size_t leaves = std::max<std::size_t>(4, std::bit_ceil(padded));
  weight_.resize(padded);
  tree_.assign(leaves, 0.0);
  Vector4 tiny_mass = splat(0);
  for (std::size_t i = 0; i < padded; i += 4) {
    const Vector4 hi = load4(&exponents.hi[i]);
    const Vector4 mass = load4(&exponents.mass[i]);
    const Bits4 tiny = hi < splat(RowExponents::kLeastExponent);
    const Vector4 w = tiny ? splat(0.0) : scaled_weight(hi, load4(&exponents.lo[i]));
    store4(&weight_[i], w);
    store4(&tree_[i], w * mass);
    tiny_mass += tiny ? mass : splat(0.0);
  }
  int depth = 0;
  for (std::size_t half = leaves / 2; half >= 4; half /= 2, ++depth) {
    for (std::size_t i = 0; i < half; i += 4) store4(&tree_[i], load4(&tree_[i]) + load4(&tree_[i + half]));
  }
  const double total = (tree_[0] + tree_[1]) + (tree_[2] + tree_[3]);
  depth += 2;
  if (!(total >= 0x1p300 && total <= 0x1p900) || exponents.size() > (std::size_t{1} << 20)) return false;
  inverse_ = 1 / total;

  const std::size_t blocks = round_up(exponents.size(), kBlock) / kBlock;
  const std::size_t roundings_of_sum = 3 + kBlock + blocks;
  const std::size_t roundings_of_l = 3 + 1 + static_cast<std::size_t>(depth);
  // 2 for x, 1 for the ends, 1 for C / L.
  const auto count = static_cast<double>(roundings_of_sum + roundings_of_l + 4);
  // A tiny weight is at most 2^(kWeightScale - 700) = 1 in the scale of L.
  const double left_out = (tiny_mass[0] + tiny_mass[1] + tiny_mass[2] + tiny_mass[3]) * inverse_;
  condition_ = 1.03 * (count * kUnit + left_out);
  floor_ = 0x1p-1000;
  if (exponents.size() == 1 && exponents.is_plain()) condition_ = floor_ = 0;  // x = a: weight and L are powers of two
  return condition_ < 0x1p-20;
}

// Block by block, so that the values are read in the order in which they lie.
void DoubleTier::sum_columns(const RowProblem& problem) {
  const std::size_t padded = round_up(problem.depth, kColumns);
  const std::size_t whole = problem.depth / kColumns * kColumns;
  sum_.assign(padded, 0.0);
  size_.assign(padded, 0.0);
  if (whole < problem.depth) copy_rest(problem, whole);
  for (std::size_t begin = 0; begin < row_weight_.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, row_weight_.size() - begin);
    const auto weights = std::span<const double>(row_weight_).subspan(begin, count);
    const auto starts = std::span<const std::size_t>(row_start_).subspan(begin, count);
    for (std::size_t d = 0; d < whole; d += kColumns) {
      add_block(problem.a.data() + d, weights, starts, &sum_[d], &size_[d]);
    }
    if (whole < problem.depth) {
      add_block(rest_.data(), weights, std::span<const std::size_t>(rest_start_).subspan(begin, count), &sum_[whole],
                &size_[whole]);
    }
  }
}

void DoubleTier::copy_rest(const RowProblem& problem, std::size_t begin) {
  rest_.assign(row_start_.size() * kColumns, 0.0);
  rest_start_.resize(row_start_.size());
  for (std::size_t p = 0; p < row_start_.size(); ++p) {
    rest_start_[p] = p * kColumns;
    const auto from = problem.a.begin() + static_cast<std::ptrdiff_t>(row_start_[p] + begin);
    std::copy(from, from + static_cast<std::ptrdiff_t>(problem.depth - begin),
              rest_.begin() + static_cast<std::ptrdiff_t>(rest_start_[p]));
  }
}

void DoubleTier::sum_tiny(const RowProblem& problem) {
  tiny_.assign(round_up(problem.depth, 4), 0.0);
  for (const std::size_t start : tiny_start_) {
    for (std::size_t d = 0; d < problem.depth; ++d) tiny_[d] += std::fabs(problem.a[start + d]);
  }
}

void DoubleTier::grade_row(const RowProblem& problem, const RowToGrade& row, const RowExponents& exponents,
                           std::span<ElementGrade> grades, std::vector<std::size_t>& open) {
  if (!weigh(exponents)) {
    for (std::size_t d = 0; d < problem.depth; ++d) open.push_back(d);
    return;
  }
  list_rows(problem, exponents);
  sum_columns(problem);
  sum_tiny(problem);
  grade_columns({sum_, size_, tiny_, inverse_, condition_, floor_}, row, grades, open);
}

}  // namespace lsecheck
