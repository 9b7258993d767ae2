#include "kernels/sm100/fa4_ws_row_contract.h"

#include <gtest/gtest.h>

#include "kernels/sm100/test_fa4_ws.h"

// The table of special values, line by line: what is due, and that the kernel gives it.
namespace lsecheck::sm100 {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Partial {
  float m, l, o;
};

int class_of(std::uint32_t bits) {
  if (is_nan(DType::f32, bits)) return int{kNaN | kNaNByOverflow};
  if (!is_inf(DType::f32, bits)) return kFinite;
  return decode(DType::f32, bits) > 0 ? kPositiveInf : kNegativeInf;
}

constexpr int kAllNaN = 256;  // the whole row, by its class

// What is due in each output column where every value of a partition is the same: of the sums, and at level 1 of l and
// m. The kernel must give one of it, under the unit and the extremes of its specification.
std::vector<int> due_of(Fa4WsLevel level, const std::vector<Partial>& partials,
                        ExponentForm form = ExponentForm::log2) {
  const CombineKernel& kernel = fa4_ws_kernel(level);
  CombineShape shape{Arch::sm_100a, static_cast<int>(partials.size()), 1, 1, 64, DType::f32, DType::f32, form, 1.0F};
  Fa4WsBatch batch(shape);
  for (std::size_t p = 0; p < partials.size(); ++p) {
    batch.lse_at(p, 0) = partials[p].m;
    batch.mass_at(p, 0) = partials[p].l;
    for (std::uint32_t& bits : batch.o_at(p, 0)) bits = std::bit_cast<std::uint32_t>(partials[p].o);
  }
  const auto m = batch.lse_of_row(0);
  const auto l = batch.mass_of_row(0);
  const auto o = batch.o_of_row(0);
  std::vector<int> due;
  for (const sfu::Unit unit : {sfu::Unit{}, sfu::Unit{sfu::UnitKind::spec, 1}, sfu::Unit{sfu::UnitKind::spec, 2}}) {
    const KernelVariant variant = kernel.variants(shape).front();
    const RowExpectation row = kernel.expect(shape, variant, {m, o, std::nullopt, l}, unit.kind);
    ExecutionOptions options;
    options.unit = unit;
    std::vector<std::uint32_t> bits;
    const auto fault = launch_fa4_ws(kernel, batch, variant, options, bits);
    EXPECT_FALSE(fault.has_value()) << fault->message;
    RowBound bound;
    if (row.row_class == RowClass::finite) bound = kernel.bound(shape, row, unit.kind);
    due.clear();
    for (std::size_t d = 0; d < bits.size(); ++d) {
      if (d > 0 && d < 64) continue;
      due.push_back(row.row_class == RowClass::all_nan ? kAllNaN : int{row.due[d]});
      const int seen = class_of(bits[d]);
      const bool overflowed = (seen & (kPositiveInf | kNegativeInf)) != 0 && due.back() != kAllNaN &&
                              (due.back() & kFinite) != 0 && bound.inf_allowed[d] != 0;
      EXPECT_TRUE(overflowed || (due.back() == kAllNaN ? seen != kFinite : (due.back() & seen) != 0))
          << kernel.name() << " column " << d << " gave " << decode(DType::f32, bits[d]);
    }
  }
  return due;
}

// Lines for two partitions; the same is due of fa4_ws_intracta_combine, of level 2, and of two levels when a second
// warpgroup repeats the first.
TEST(Fa4WsSpecialValues, OfNormalisedRows) {
  struct Line {
    const char* what;
    std::vector<Partial> partials;
    int due;
  };
  const std::vector<Line> table{
      {"a partition without a key drops out", {{0, 1, 1}, {-inf, 0, 7}}, kFinite},
      {"stale Inf under it", {{0, 1, 1}, {-inf, 0, inf}}, kNaN},
      {"stale NaN under it", {{0, 1, 1}, {-inf, 0, nan}}, kNaN},
      {"its mass is NaN", {{0, 1, 1}, {-inf, nan, 1}}, kAllNaN},
      {"its mass is Inf", {{0, 1, 1}, {-inf, inf, 1}}, kAllNaN},
      {"its mass is a stale number", {{0, 1, 1}, {-inf, 5, 1}}, kFinite},
      {"no key at all", {{-inf, 0, 0}, {-inf, 0, 0}}, kAllNaN},
      {"a NaN exponent", {{0, 1, 1}, {nan, 1, 1}}, kAllNaN},
      {"an exponent of +inf", {{inf, 1, 1}, {0, 1, 1}}, kAllNaN},
      {"a NaN mass", {{0, nan, 1}, {0, 1, 1}}, kAllNaN},
      {"a mass of Inf", {{0, inf, 1}, {0, 1, 1}}, kFinite},
      {"a mass of Inf below an Inf", {{0, inf, inf}, {0, 1, 1}}, kNaN},
      {"a mass of Inf under a flushed weight", {{0, 1, 1}, {-200, inf, 1}}, kAllNaN},
      {"no mass, nothing else", {{0, 0, 0}, {0, 0, 0}}, kNaN},
      {"no mass below a value", {{0, 0, 1}, {0, 0, 2}}, kPositiveInf},
      {"no mass below a negative value", {{0, 0, -1}, {0, 0, -2}}, kNegativeInf},
      {"no mass below values that cancel", {{0, 0, 1}, {0, 0, -1}}, kNaN | kPositiveInf | kNegativeInf},
      {"a subnormal mass is flushed", {{0, 0x1p-128F, 1}, {0, 0, 0}}, kPositiveInf},
      {"a mass above 2^126", {{0, 0x1p127F, 1}, {0, 0, 0}}, kFinite},
      {"a mass above 2^126 below an Inf", {{0, 0x1p127F, inf}, {0, 0, 0}}, kNaN},
      {"an Inf under a weight", {{0, 1, inf}, {0, 1, 1}}, kPositiveInf},
      {"Infs of both signs", {{0, 1, inf}, {0, 1, -inf}}, kNaN},
      {"an Inf under a weight that may be flushed", {{0, 1, 1}, {-126, 1, inf}}, kNaN | kPositiveInf},
      {"an Inf under a weight above the flush", {{0, 1, 1}, {-125.9F, 1, -inf}}, kNegativeInf},
      {"an Inf under a flushed weight", {{0, 1, 1}, {-126.1F, 1, inf}}, kNaN},
      {"a sum that may overflow", {{0, 1, 3e38F}, {0, 1, 3e38F}}, kFinite | kNaNByOverflow},
      {"masked scores have a finite exponent", {{-0x1p100F, 64, 1}, {0, 1, 2}}, kFinite},
  };
  for (const Line& line : table) {
    std::vector<Partial> twice = line.partials;
    twice.insert(twice.end(), line.partials.begin(), line.partials.end());
    for (const ExponentForm form : {ExponentForm::log2, ExponentForm::scaled}) {
      EXPECT_EQ(due_of(Fa4WsLevel::intracta, line.partials, form)[0], line.due) << line.what;
      EXPECT_EQ(due_of(Fa4WsLevel::level2, line.partials, form)[0], line.due) << line.what << ", level 2";
      EXPECT_EQ(due_of(Fa4WsLevel::two_level, twice, form)[0], line.due) << line.what << ", two levels";
      EXPECT_EQ(due_of(Fa4WsLevel::intracta, twice, form)[0], line.due) << line.what << ", four partitions";
    }
  }
}

TEST(Fa4WsSpecialValues, MassesOutOfRangeGiveZeros) {
  for (const float l : {inf, 0x1p127F, 3e38F}) {
    Fa4WsBatch batch({Arch::sm_90, 2, 1, 1, 64, DType::f32, DType::f32, ExponentForm::log2, 1.0F});
    for (const std::size_t p : {0U, 1U}) {
      batch.fill(p, 0, 0.0F, 1.0);
      batch.mass_at(p, 0) = l;
    }
    std::vector<std::uint32_t> bits;
    const auto& kernel = fa4_ws_intracta_combine_kernel();
    ASSERT_FALSE(launch_fa4_ws(kernel, batch, kernel.variants(batch.shape).front(), {}, bits).has_value());
    const auto m = batch.lse_of_row(0);
    const auto mass = batch.mass_of_row(0);
    const auto o = batch.o_of_row(0);
    const RowExpectation row = kernel.expect(batch.shape, {}, {m, o, std::nullopt, mass}, sfu::UnitKind::h200);
    const RowBound bound = kernel.bound(batch.shape, row, sfu::UnitKind::h200);
    for (std::size_t d = 0; d < bits.size(); ++d) {
      EXPECT_EQ(decode(DType::f32, bits[d]), 0.0);
      EXPECT_EQ(row.due[d], kFinite);
      EXPECT_EQ(row.a[d], 0.0) << "0 is due, exactly";
      EXPECT_EQ(bound.bound[d], 0.0);
    }
  }
}

TEST(Fa4WsSpecialValues, AWarpgroupWithoutAKeySpoilsItsPeer) {
  const std::vector<Partial> first{{0, 1, 1}, {0, 1, 1}}, second{{-inf, 0, 0}, {-inf, 0, 0}};
  std::vector<Partial> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(due_of(Fa4WsLevel::two_level, both)[0], kAllNaN);
  EXPECT_EQ(due_of(Fa4WsLevel::level2, {{0, 1, 1}, {-inf, 0, 0}})[0], kFinite) << "isolated, l = 0 drops out";
}

TEST(Fa4WsSpecialValues, AloneTheExponentDoesNotMatter) {
  for (const float m : {0.0F, -inf, inf, nan}) {
    EXPECT_EQ(due_of(Fa4WsLevel::level2, {{m, 2, 3}})[0], kFinite);
    EXPECT_EQ(due_of(Fa4WsLevel::level2, {{m, 0, 3}})[0], kPositiveInf);
    EXPECT_EQ(due_of(Fa4WsLevel::level2, {{m, 2, nan}})[0], kNaN);
  }
}

TEST(Fa4WsSpecialValues, OfLevel1ColumnByColumn) {
  using ::testing::PrintToString;
  struct Line {
    std::vector<Partial> partials;
    std::vector<int> due;  // the sums, l, m
  };
  const std::vector<Line> table{
      {{{0, 1, 1}, {-inf, 0, 7}}, {kFinite, kFinite, kFinite}},
      {{{0, 1, 1}, {-inf, 0, inf}}, {kNaN, kFinite, kFinite}},
      {{{0, 1, 1}, {-inf, nan, 1}}, {kFinite, kNaN, kFinite}},
      {{{0, inf, 1}, {0, 1, 1}}, {kFinite, kPositiveInf, kFinite}},
      {{{0, 1, 1}, {-126, inf, 1}}, {kFinite, kPositiveInf | kNaN, kFinite}},
      {{{-inf, 0, 0}, {-inf, 0, 0}}, {kNaN, kNaN, kNegativeInf}},
      {{{nan, 1, 1}, {5, 1, 1}}, {kNaN, kNaN, kFinite}},
      {{{nan, 1, 1}, {nan, 1, 1}}, {kAllNaN, kAllNaN, kAllNaN}},
      {{{inf, 1, 1}, {5, 1, 1}}, {kNaN, kNaN, kPositiveInf}},
      {{{0, 0, 1}, {0, 0, 1}}, {kFinite, kFinite, kFinite}},
      {{{0, 3e38F, 3e38F}, {0, 3e38F, 3e38F}}, {kFinite | kNaNByOverflow, kFinite, kFinite}},
  };
  for (const Line& line : table) {
    EXPECT_EQ(due_of(Fa4WsLevel::level1, line.partials), line.due) << PrintToString(line.due);
  }
}

}  // namespace
}  // namespace lsecheck::sm100
