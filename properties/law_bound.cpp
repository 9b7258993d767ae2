#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/law_tools.h"
#include "properties/tensor_edits.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"

// The laws whose derived case has the same exact value, or a value in a known hull: both sides within the bound.
namespace lsecheck {

LawOutcome check_empty_anywhere(const CaseTensors& tensors, Reference& reference) {
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  const auto p_max = static_cast<std::size_t>(kernel_of(tensors.spec).p_max());
  std::vector<std::int64_t> sources = all_partitions(tensors);
  if (sources.size() >= p_max) return LawOutcome::skip("P is already the largest");
  PhiloxStream random = law_stream(tensors, LawId::empty_anywhere);
  const std::uint64_t count = 1 + random.below(std::min<std::uint64_t>(4, p_max - sources.size()));
  for (std::uint64_t i = 0; i < count; ++i) {
    sources.insert(sources.begin() + static_cast<std::ptrdiff_t>(random.below(sources.size() + 1)), kNoSource);
  }
  const auto padded = launchable(remap_partitions(tensors, sources));
  if (!padded) return LawOutcome::skip("no larger P can be launched");
  const auto fault =
      graded_run_fault(*padded, reference, fmt::format("{} empty partitions put between the others", count));
  return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
}

LawOutcome check_permutation(const CaseTensors& tensors, Reference& reference) {
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  if (tensors.spec.num_partitions < 2) return LawOutcome::skip("one partition");
  PhiloxStream random = law_stream(tensors, LawId::permutation);
  std::vector<std::int64_t> sources = all_partitions(tensors);
  for (std::size_t i = sources.size() - 1; i > 0; --i) std::swap(sources[i], sources[random.below(i + 1)]);
  const auto fault = graded_run_fault(remap_partitions(tensors, sources), reference, "partitions in another order");
  return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
}

LawOutcome check_equal_partitions(const CaseTensors& tensors, Reference& reference) {
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  PhiloxStream random = law_stream(tensors, LawId::equal_partitions);
  std::vector<std::int64_t> sources = all_partitions(tensors);
  const std::int64_t chosen = sources[random.below(sources.size())];
  std::fill(sources.begin(), sources.end(), chosen);
  const auto fault = graded_run_fault(remap_partitions(tensors, sources), reference,
                                      fmt::format("every partition a copy of partition {}", chosen));
  return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
}

LawOutcome check_lse_shift(const CaseTensors& with_sink, Reference& reference) {
  if (has_special_input(with_sink)) return LawOutcome::skip(kSpecialInput);
  // A sink would have to move along, by a shift that is no f32.
  const CaseTensors tensors = without_sink(with_sink);
  PhiloxStream random = law_stream(tensors, LawId::lse_shift);
  const bool negative = random.chance(1, 2);
  const auto first_exponent = static_cast<int>(random.between(-6, 14));
  // The first shift from there downwards that is exact for every LSE.
  for (int exponent = first_exponent; exponent >= -20; --exponent) {
    const float shift = std::ldexp(negative ? -1.0F : 1.0F, exponent);
    // The sum must be exact in f32. In double it may be rounded too (a tiny LSE): then taking either term off again
    // does not give the other.
    const auto exact = [shift](float lse) {
      if (lse == -INFINITY) return true;
      const double sum = static_cast<double>(lse) + static_cast<double>(shift);
      return sum - shift == lse && sum - lse == shift && static_cast<double>(lse + shift) == sum;
    };
    if (!std::all_of(tensors.lse_partial.begin(), tensors.lse_partial.end(), exact)) continue;
    CaseTensors shifted = tensors;
    for (float& lse : shifted.lse_partial) lse += shift;
    const std::string what = fmt::format("every LSE plus {}", shift);
    if (kernel_of(tensors.spec).shift_exact()) {
      const KernelRun run = run_kernel(tensors);
      if (run.fault) return LawOutcome::fail(*run.fault);
      const KernelRun shifted_run = run_kernel(shifted);
      if (shifted_run.fault) return LawOutcome::fail(fmt::format("{}: {}", what, *shifted_run.fault));
      const auto difference = first_difference(tensors.spec.out, columns_of(tensors.spec), run.out_bits,
                                               shifted_run.out_bits, BitComparison::zero_signs_and_nans_alike);
      return difference ? LawOutcome::fail(fmt::format("{}: {}", what, *difference)) : LawOutcome::pass();
    }
    const auto fault = graded_run_fault(shifted, reference, what);
    return fault ? LawOutcome::fail(*fault) : LawOutcome::pass();
  }
  return LawOutcome::skip("no power of two can be added to every LSE exactly");
}

namespace {

// The hull of what the partitions of a row would give alone in column d, a_p / l_p; with a sink, which holds mass at 0,
// 0 too. Rounded outward. Without bounds where a partition of no mass has a value.
struct Hull {
  double low = INFINITY;
  double high = -INFINITY;
};
Hull hull_of(const RowProblem& row, std::size_t d) {
  Hull hull;
  if (row.sink) hull = {0, 0};
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    if (row.x[p] == -INFINITY) continue;
    const double a = row.a[p * row.depth + d];
    const double l = row.l.empty() ? 1 : row.l[p];
    if (l == 0 && a == 0) continue;
    if (l == 0) return {-INFINITY, INFINITY};
    hull.low = std::min(hull.low, div_down(a, l));
    hull.high = std::max(hull.high, div_up(a, l));
  }
  return hull;
}

}  // namespace

LawOutcome check_convexity(const CaseTensors& tensors, Reference&) {
  const CaseSpec& spec = tensors.spec;
  if (!kernel_of(spec).divides_by_mass()) return LawOutcome::skip("the kernel returns undivided sums");
  const KernelVariant variant = variant_of(spec);
  const KernelRun run = run_kernel(tensors);
  if (run.fault) return LawOutcome::fail(*run.fault);
  bool any_finite_row = false;
  const std::size_t columns = columns_of(spec);
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    const RowVerdictInput row = row_verdict_input(tensors, variant, rh);
    if (row.expectation.row_class != RowClass::finite) continue;
    any_finite_row = true;
    for (std::size_t d = 0; d < spec.ov_depth; ++d) {
      if (row.expectation.due[d] != kFinite || row.bound.inf_allowed[d]) continue;
      const Hull hull = hull_of(row.expectation.problem(), d);
      const double up = add_up(hull.high, row.bound.bound[d]);
      const double down = sub_down(hull.low, row.bound.bound[d]);
      const std::uint32_t bits = run.out_bits[rh * columns + d];
      const double y = decode(spec.out, bits);
      const bool overflows = up >= overflow_threshold(spec.out) || down <= -overflow_threshold(spec.out);
      if (!(y >= down && y <= up) && !(std::isinf(y) && overflows)) {
        return LawOutcome::fail(
            fmt::format("row-head {}, d {}: {} is outside the hull [{:.9g}, {:.9g}] by more than the bound {:.3g}", rh,
                        d, describe_value(spec.out, bits), hull.low, hull.high, row.bound.bound[d]));
      }
    }
  }
  return any_finite_row ? LawOutcome::pass() : LawOutcome::skip("no row with a finite value");
}

namespace {

// 2^-X L, X the largest exponent of the row that the kernel reads, empty partitions included, in log2 units: by what
// the sums of a kernel that divides at the end differ from the output. Within a factor 1 + 2^-30.
double undivided_size(const CaseTensors& tensors, std::size_t rh, const RowProblem& row) {
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  const double unit = row.base == ExponentBase::natural ? kLog2e : 1;
  double largest = -INFINITY;
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    const double x = tensors.lse_partial[tensors.lse_index(p, rh)];
    largest = std::max(largest, tensors.spec.exponent == ExponentForm::scaled ? x * tensors.exponent_scale : x);
  }
  double sum = 0;
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    if (row.x[p] != -INFINITY) sum += exp2_double((row.x[p] - largest) * unit) * row.l[p];
  }
  return sum;
}

// Whether scaling element d's values by 2^k is exact all the way: every product, sum and output stays normal. Products
// of a weight and a value have 48 bits, so no partial sum other than 0 can be smaller than the smallest product times
// 2^-48 (and one bit of slack); nor can a compensation of such a sum.
// A kernel that rescales its sums (rescales) gives its partial sums no such least size once they cancel, so it is shown
// values of one sign: then every nonzero intermediate is at least the smallest weighted value. Its sums are undivided,
// at most the sum of the values, and a weight below the flush can come about as a product of two above it.
// A kernel with masses divides at the end: what holds for the products divided by L has to hold for those it forms,
// too.
class ScalingPremise {
 public:
  ScalingPremise(const CaseTensors& tensors, std::size_t rh, const RowExpectation& row, int k, bool rescales)
      : tensors_(tensors), rh_(rh), row_(row), k_(k), rescales_(rescales) {
    weights_ = weights_up(row.problem());
    if (!row.l.empty()) undivided_ = undivided_size(tensors, rh, row.problem());
  }

  bool holds(std::size_t d, std::uint32_t out_bits) const {
    if (row_.due[d] != kFinite) return false;
    double total = 0;
    for (std::size_t p = 0; p < tensors_.spec.num_partitions; ++p) {
      const double value = std::abs(row_.a[p * row_.due.size() + d]);
      if (weights_[p] == 0 || value == 0) continue;
      const DType type = tensors_.spec.partial;
      const double stored = std::abs(decode(type, tensors_.o_partial[tensors_.o_index(p, rh_, d)]));
      if (!normal_both_ways(type, stored)) return false;
      const double formed = weights_[p] * undivided_;
      if (formed < 0x1p-140 && !rescales_) continue;  // flushed for certain: contributes nothing either way
      if (formed < 0x1p-110) return false;            // near the flush the computed weight may be anything
      const double product = std::min(weights_[p], formed) * value;
      if (product * 0x1p-50 < std::ldexp(0x1p-126, std::abs(k_))) return false;
      total += rescales_ ? value : std::max(weights_[p], formed) * value;
    }
    if (std::ldexp(total, std::abs(k_) + 1) >= max_finite(DType::f32)) return false;
    const DType out = tensors_.spec.out;
    const double y = std::abs(decode(out, out_bits));
    // By the above a sum is 0 or at least 2^-126: a 0 in bf16 or f32 was a 0 before the cast, one in f16 may be an
    // underflow.
    if (y == 0) return out != DType::f16;
    return normal_both_ways(out, y);
  }

 private:
  // Normal with a factor of two to spare, here and after scaling.
  bool normal_both_ways(DType type, double value) const {
    const FloatFormat format = format_of(type);
    const double scaled = std::ldexp(value, k_);
    const double low = std::ldexp(2.0, format.min_exponent);
    const double high = max_finite(type) / 4;
    return value >= low && scaled >= low && value <= high && scaled <= high;
  }
  const CaseTensors& tensors_;
  std::size_t rh_;
  const RowExpectation& row_;
  int k_;
  bool rescales_;
  std::vector<double> weights_;
  double undivided_ = 1;
};

}  // namespace

LawOutcome check_value_scaling(const CaseTensors& drawn, Reference&) {
  const CaseSpec& spec = drawn.spec;
  const bool rescales = kernel_of(spec).rescales_sums();
  CaseTensors tensors = drawn;
  if (rescales) {
    const std::uint32_t sign = spec.partial == DType::f32 ? 0x80000000U : 0x8000U;
    for (std::uint32_t& bits : tensors.o_partial) bits &= ~sign;
  }
  PhiloxStream random = law_stream(tensors, LawId::value_scaling);
  const int k = static_cast<int>(random.between(1, 4)) * (random.chance(1, 2) ? 1 : -1);
  CaseTensors scaled = tensors;
  for (std::size_t i = 0; i < scaled.o_partial.size(); ++i) {
    // What lies under an empty partition stays: scaled to Inf it would be NaN where nothing drops it.
    std::uint32_t& bits = scaled.o_partial[i];
    if (!is_finite(spec.partial, bits) || is_empty(tensors, i / spec.ov_depth)) continue;
    bits = round_to_nearest_even(spec.partial, std::ldexp(decode(spec.partial, bits), k));
  }
  const KernelRun run = run_kernel(tensors);
  if (run.fault) return LawOutcome::fail(*run.fault);
  const KernelRun scaled_run = run_kernel(scaled);
  if (scaled_run.fault) return LawOutcome::fail("scaled values: " + *scaled_run.fault);

  const KernelVariant variant = variant_of(spec);
  std::uint64_t compared = 0;
  RowCopy copy;
  const std::size_t columns = columns_of(spec);
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    const RowExpectation row =
        kernel_of(spec).expect(shape_of(tensors), variant, gather_row(tensors, rh, copy), spec.unit.kind);
    if (row.row_class != RowClass::finite) continue;
    const ScalingPremise premise(tensors, rh, row, k, rescales);
    for (std::size_t d = 0; d < spec.ov_depth; ++d) {
      const std::size_t i = rh * columns + d;
      if (!premise.holds(d, run.out_bits[i])) continue;
      ++compared;
      const std::uint32_t expected = round_to_nearest_even(spec.out, std::ldexp(decode(spec.out, run.out_bits[i]), k));
      if (canonical(spec.out, expected) != canonical(spec.out, scaled_run.out_bits[i])) {
        return LawOutcome::fail(fmt::format("values times 2^{}, row-head {}, d {}: {} became {}, due is {}", k, rh, d,
                                            describe_value(spec.out, run.out_bits[i]),
                                            describe_value(spec.out, scaled_run.out_bits[i]),
                                            describe_value(spec.out, expected)));
      }
    }
  }
  return compared > 0 ? LawOutcome::pass() : LawOutcome::skip("no element whose products and sums stay normal");
}

}  // namespace lsecheck
