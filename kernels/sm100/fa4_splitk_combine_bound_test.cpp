#include "kernels/sm100/fa4_splitk_combine_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/sm100/test_combine.h"
#include "reference/bound_arithmetic.h"
#include "reference/grade.h"

// The whole bound against the kernel's output and the exact value, and that an output outside it is told apart.
namespace lsecheck::sm100 {
namespace {

// --- rows ---

enum class Lses { narrow, wide, some_empty, large, absorbing, flush_threshold };
enum class Values { normal, cancelling, one_sided_huge, huge, subnormal, smallest };

float draw_lse(Draw& draw, Lses kind, std::size_t p) {
  switch (kind) {
    case Lses::narrow:
      return draw.single(-3, 3);
    case Lses::wide:
      return draw.single(-150, 150);
    case Lses::some_empty:
      return p > 0 && draw.below(2) == 0 ? kEmpty : draw.single(-10, 10);
    case Lses::large:
      return draw.single(9990, 10010);
    case Lses::absorbing:
      return 0x1p25F + static_cast<float>(4 * draw.below(3));
    case Lses::flush_threshold:
      break;
  }
  return p == 0 ? 0.5F : 0.5F - draw.single(124, 128);
}

double draw_value(Draw& draw, Values kind, std::size_t p, const CombineShape& shape) {
  const DType narrower = size_of(shape.out) < size_of(shape.partial) ? shape.out : shape.partial;
  const FloatFormat format = format_of(narrower);
  switch (kind) {
    case Values::normal:
      return draw.uniform(-2, 2);
    case Values::cancelling:
      return (p % 2 == 0 ? 1.0 : -1.0) * draw.uniform(1, 1.001);
    case Values::one_sided_huge:  // some beyond what the output holds, where the partials do
      return std::min(max_finite(narrower) * draw.uniform(0.98, 1.02), max_finite(shape.partial));
    case Values::huge:
      return max_finite(narrower) * draw.uniform(-1, 1);
    case Values::subnormal:
      return std::ldexp(draw.uniform(-4, 4), format.min_exponent - 2);
    case Values::smallest:
      break;
  }
  return static_cast<double>(draw.below(7) - 3) * smallest_subnormal(narrower);
}

RowBatch drawn_batch(Draw& draw, const CombineShape& shape, Values values) {
  constexpr std::array<Lses, 6> kLses{Lses::narrow, Lses::wide,      Lses::some_empty,
                                      Lses::large,  Lses::absorbing, Lses::flush_threshold};
  CombineShape rows = shape;
  rows.rows = kLses.size();
  RowBatch batch(rows);
  for (std::size_t row = 0; row < kLses.size(); ++row) {
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      batch.lse_at(p, row) = draw_lse(draw, kLses[row], p);
      if (batch.lse_at(p, row) == kEmpty) continue;
      for (std::uint32_t& bits : batch.o_at(p, row)) {
        bits = round_to_nearest_even(shape.partial, draw_value(draw, values, p, shape));
      }
    }
  }
  return batch;
}

// --- checks of one row ---

std::vector<ElementGrade> grade(Reference& reference, const RowExpectation& row, DType type,
                                const std::vector<std::uint32_t>& bits, const std::vector<double>& bound,
                                const std::vector<std::uint8_t>& inf_allowed) {
  std::vector<ElementGrade> grades(bits.size());
  reference.grade_row(row.problem(), {type, bits, bound, inf_allowed}, grades);
  return grades;
}

// A number of the type further than 2 B from y, so further than B from any x that y is within B of; nullopt beyond the
// type's range.
std::optional<std::uint32_t> pushed_out(DType type, std::uint32_t y_bits, double bound, bool upward) {
  const double y = decode(type, y_bits);
  const double distance = mul_up(2, bound);
  for (double target = upward ? add_up(y, distance) : sub_down(y, distance);;) {
    const std::uint32_t bits = round_to_nearest_even(type, target);
    if (!is_finite(type, bits)) return std::nullopt;
    const double reached = upward ? sub_down(decode(type, bits), y) : sub_down(y, decode(type, bits));
    if (reached > distance) return bits;
    target = decode(type, bits) + (upward ? 1 : -1) * ulp_at(type, decode(type, bits));
  }
}

struct Seen {
  std::size_t elements = 0;
  std::size_t pushed = 0;
  std::size_t infinite = 0;
  std::size_t subnormal = 0;
  double largest_bound_use = 0;
  double largest_before_cast = 0;
};

bool is_subnormal(DType type, std::uint32_t bits) {
  const double size = std::abs(decode(type, bits));
  return size > 0 && size < std::ldexp(1.0, format_of(type).min_exponent);
}

void check_row(Reference& reference, const RowBatch& batch, std::size_t row_head, const KernelVariant& variant,
               const sfu::Unit& unit, const std::vector<std::uint32_t>& out, Seen& seen) {
  const std::vector<float> lse = batch.lse_of_row(row_head);
  const std::vector<std::uint32_t> o = batch.o_of_row(row_head);
  const RowExpectation row = fa4_combine_kernel().expect(batch.shape, variant, {lse, o}, unit.kind);
  ASSERT_EQ(row.row_class, RowClass::finite);
  const RowBound bound = fa4_combine_kernel().bound(batch.shape, row, unit.kind);
  const DType type = batch.shape.out;

  const auto grades = grade(reference, row, type, out, bound.bound, bound.inf_allowed);
  for (std::size_t d = 0; d < out.size(); ++d) {
    ASSERT_TRUE(grades[d].within_bound && !grades[d].undecided)
        << "element " << d << ": bound_use " << grades[d].bound_use << ", got " << decode(type, out[d]);
    ASSERT_LE(bound.bound_before_cast[d], bound.bound[d]);
    ++seen.elements;
    seen.infinite += is_inf(type, out[d]) ? 1 : 0;
    seen.subnormal += is_subnormal(type, out[d]) ? 1 : 0;
    if (is_finite(type, out[d])) seen.largest_bound_use = std::max(seen.largest_bound_use, grades[d].bound_use);
  }

  // Before the cast.
  const auto acc = scalar_accumulators(batch.shape, variant.p_static, lse, o, unit);
  ASSERT_TRUE(acc.has_value());
  std::vector<std::uint32_t> acc_bits(out.size());
  for (std::size_t d = 0; d < out.size(); ++d) {
    ASSERT_EQ(round_to_nearest_even(type, (*acc)[d]), out[d]) << "the test's accumulator is not the kernel's";
    acc_bits[d] = round_to_nearest_even(DType::f32, (*acc)[d]);
  }
  const auto acc_grades = grade(reference, row, DType::f32, acc_bits, bound.bound_before_cast, bound.inf_allowed);
  for (std::size_t d = 0; d < out.size(); ++d) {
    ASSERT_TRUE(acc_grades[d].within_bound && !acc_grades[d].undecided)
        << "element " << d << " before the cast: bound_use " << acc_grades[d].bound_use << ", got " << (*acc)[d];
    if (is_finite(DType::f32, acc_bits[d])) {
      seen.largest_before_cast = std::max(seen.largest_before_cast, acc_grades[d].bound_use);
    }
  }

  // Pushed out of the bound, upward and downward in turn.
  std::vector<std::uint32_t> pushed = out;
  std::vector<std::uint8_t> moved(out.size(), 0);
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (!is_finite(type, out[d])) continue;
    const auto bits = pushed_out(type, out[d], bound.bound[d], d % 2 == 0);
    if (!bits) continue;
    pushed[d] = *bits;
    moved[d] = 1;
  }
  const auto pushed_grades = grade(reference, row, type, pushed, bound.bound, bound.inf_allowed);
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (!moved[d]) continue;
    ++seen.pushed;
    ASSERT_FALSE(pushed_grades[d].within_bound) << "element " << d << ": " << decode(type, pushed[d]) << " passes";
    ASSERT_GT(pushed_grades[d].bound_use, 1.0);
  }
}

class Fa4BoundByType : public ::testing::TestWithParam<TypePair> {};
INSTANTIATE_TEST_SUITE_P(TypePairs, Fa4BoundByType, ::testing::ValuesIn(kTypePairs), [](const auto& test) {
  return std::string(name_of(test.param.out)) + "_from_" + std::string(name_of(test.param.partial));
});

TEST_P(Fa4BoundByType, HoldsOnTheKernelsOutputAndFlagsWhatIsOutside) {
  const auto reference = make_exact_reference();
  Draw draw(11);
  Seen seen;
  std::uint64_t turn = 0;
  for (const Values values : {Values::normal, Values::cancelling, Values::one_sided_huge, Values::huge,
                              Values::subnormal, Values::smallest}) {
    for (const int p : {1, 2, 3, 37}) {
      const RowBatch batch =
          drawn_batch(draw, {kAllArchs[turn % 3], p, 1, 1, 64, GetParam().out, GetParam().partial}, values);
      ExecutionOptions options;
      options.unit = turn % 2 == 0 ? sfu::Unit{} : sfu::Unit{sfu::UnitKind::spec, turn / 2};
      ++turn;
      const KernelVariant variant = fa4_combine_kernel().variants(batch.shape).front();
      const std::vector<std::uint32_t> out = launch(batch, variant, options);
      for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
        const auto from = out.begin() + static_cast<std::ptrdiff_t>(row * batch.depth());
        check_row(*reference, batch, row, variant, options.unit,
                  {from, from + static_cast<std::ptrdiff_t>(batch.depth())}, seen);
        ASSERT_FALSE(HasFatalFailure()) << "values " << static_cast<int>(values) << ", P " << p << ", row " << row
                                        << ", unit " << sfu::name_of(options.unit.kind) << " " << options.unit.seed;
      }
    }
  }
  EXPECT_EQ(seen.elements, 6U * 4 * 6 * 64);
  EXPECT_GT(seen.pushed, seen.elements / 2);
  EXPECT_GT(seen.subnormal, 100U);
  EXPECT_GT(seen.infinite, 50U);
  EXPECT_GT(seen.largest_bound_use, 0.5);
  EXPECT_GT(seen.largest_before_cast, 0.5);
  RecordProperty("largest_bound_use", std::to_string(seen.largest_bound_use));
  RecordProperty("largest_before_cast", std::to_string(seen.largest_before_cast));
}

// Every fma of a long sum drops just under half an ulp: the roundings add up, and the bound charges them.
TEST(Fa4Bound, ChargesEveryRoundingOfALongSum) {
  const auto reference = make_exact_reference();
  RowBatch batch({Arch::sm_103a, 160, 1, 1, 64, DType::f32, DType::f32});
  for (std::size_t p = 0; p < 160; ++p) batch.fill(p, 0, -3.5F, p == 0 ? 1.0 : 1.24 * 0x1p-25);
  const KernelVariant variant = variant_named(batch.shape, "runtime");
  Seen seen;
  check_row(*reference, batch, 0, variant, {}, launch(batch, variant), seen);
  EXPECT_GT(seen.largest_before_cast, 0.4);
}

// --- the edge of the bound, where the exact value is known ---

std::uint32_t bits_at(DType type, std::int64_t ordinal_of_value) {
  const std::uint32_t sign = 1U << (format_of(type).bits - 1);
  return ordinal_of_value < 0 ? sign | static_cast<std::uint32_t>(-ordinal_of_value)
                              : static_cast<std::uint32_t>(ordinal_of_value);
}

// The last number of the type within B of x, going up or down from x, and the first one that is not.
struct Edge {
  std::uint32_t inside;
  std::uint32_t outside;
};
Edge edge_of(DType type, double x, double bound, bool upward) {
  const auto within = [&](std::int64_t at) { return std::abs(decode(type, bits_at(type, at)) - x) <= bound; };
  const std::int64_t last = ordinal(type, round_to_nearest_even(type, max_finite(type)));
  std::int64_t inside = ordinal(type, round_to_nearest_even(type, x));
  std::int64_t outside = upward ? last : -last;
  EXPECT_TRUE(within(inside) && !within(outside));
  while (std::abs(outside - inside) > 1) {
    const std::int64_t middle = (inside + outside) / 2;
    (within(middle) ? inside : outside) = middle;
  }
  return {bits_at(type, inside), bits_at(type, outside)};
}

// The row's exact value is x. Every difference from a number of the type near it is exact in double.
void expect_edge_is_sharp(const RowExpectation& row, double x, DType type) {
  const auto reference = make_exact_reference();
  const RowBound bound = fa4_row_bound(row, type, sfu::accuracy_of(sfu::UnitKind::h200));
  for (const bool upward : {true, false}) {
    const Edge edge = edge_of(type, x, bound.bound[0], upward);
    const ElementGrade inside = grade(*reference, row, type, {edge.inside}, bound.bound, bound.inf_allowed)[0];
    EXPECT_TRUE(inside.within_bound) << inside.bound_use;
    EXPECT_LE(inside.bound_use, 1.0);
    const ElementGrade outside = grade(*reference, row, type, {edge.outside}, bound.bound, bound.inf_allowed)[0];
    EXPECT_FALSE(outside.within_bound) << outside.bound_use;
    EXPECT_GT(outside.bound_use, 1.0);
  }
}

RowExpectation mean_of(std::vector<double> a) {
  RowExpectation row;
  row.x.assign(a.size(), -3.5);
  row.a = std::move(a);
  row.due = {kFinite};
  return row;
}

TEST(Fa4BoundEdge, OneStepTellsInsideFromOutside) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    expect_edge_is_sharp(mean_of({1.375}), 1.375, type);
    expect_edge_is_sharp(mean_of({1.5, 1.25}), 1.375, type);
    expect_edge_is_sharp(mean_of({-1.5, -1.25, 0.5, -3.25}), -1.375, type);
    expect_edge_is_sharp(mean_of({100.0, -98.0}), 1.0, type);
    // An exact tie of the 16-bit types: both neighbours are inside.
    const double half_ulp = ulp_at(type, 1.0) / 2;
    expect_edge_is_sharp(mean_of({1.0, 1.0 + 2 * half_ulp}), 1.0 + half_ulp, type);
    expect_edge_is_sharp(mean_of({0x1p-14, -0x1p-14}), 0.0, type);
  }
}

// --- what a bound must be made of ---

TEST(Fa4BoundTerms, OnePartitionCostsOneRoundingAndTheCast) {
  const RowExpectation row = mean_of({1.5});
  for (const DType type : {DType::bf16, DType::f16}) {
    const RowBound bound = fa4_row_bound(row, type, sfu::accuracy_of(sfu::UnitKind::h200));
    EXPECT_LT(bound.bound_before_cast[0], 1.5 * 4 * 0x1p-23);
    EXPECT_GT(bound.bound[0], ulp_at(type, 1.5) / 2);
    EXPECT_LT(bound.bound[0], ulp_at(type, 1.5) / 2 + 1.5 * 4 * 0x1p-23);
  }
  const RowBound f32 = fa4_row_bound(row, DType::f32, sfu::accuracy_of(sfu::UnitKind::h200));
  EXPECT_EQ(f32.bound, f32.bound_before_cast);
}

TEST(Fa4BoundTerms, TheDocumentedUnitIsNeverSharperThanTheMeasuredOne) {
  Draw draw(12);
  for (const int p : {1, 2, 9, 70}) {
    RowExpectation row;
    for (int i = 0; i < p; ++i) {
      row.x.push_back(draw.single(-30, 30));
      row.a.push_back(draw.uniform(-1, 1));
    }
    row.due = {kFinite};
    const RowBound h200 = fa4_row_bound(row, DType::f32, sfu::accuracy_of(sfu::UnitKind::h200));
    const RowBound spec = fa4_row_bound(row, DType::f32, sfu::accuracy_of(sfu::UnitKind::spec));
    EXPECT_LT(h200.bound[0], spec.bound[0]);
  }
}

TEST(Fa4BoundTerms, InfIsAllowedOnlyWhereThePartialSumsReachIt) {
  const double max = max_finite(DType::f32);
  const sfu::UnitAccuracy unit = sfu::accuracy_of(sfu::UnitKind::h200);
  EXPECT_FALSE(fa4_row_bound(mean_of({max / 2, -max / 2}), DType::f32, unit).inf_allowed[0]);
  EXPECT_TRUE(fa4_row_bound(mean_of({max, -max}), DType::f32, unit).inf_allowed[0]);
  EXPECT_FALSE(fa4_row_bound(mean_of({65504, 65504}), DType::f16, unit).inf_allowed[0]);
}

// One far partition in its place takes nothing from the bound's use: masked sentinels leave it finite.
TEST(Fa4BoundTerms, StaysFiniteAndSmallBesideMaskedSentinels) {
  RowExpectation row = mean_of({1.0, 1.0, 1.0});
  row.x = {0.0, -0x1p100, -1e4};
  for (const sfu::UnitKind kind : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    EXPECT_LT(fa4_row_bound(row, DType::f32, sfu::accuracy_of(kind)).bound[0], 0x1p-20);
  }
}

}  // namespace
}  // namespace lsecheck::sm100
