#include "kernels/sm100/fa4_ws_bound.h"

#include <gtest/gtest.h>

#include <memory>

#include "kernels/sm100/fa4_ws_row_contract.h"
#include "kernels/sm100/test_fa4_ws.h"
#include "reference/bound_arithmetic.h"
#include "reference/grade.h"

// The bounds against the exact reference: rows drawn and nasty, every level, form and unit.
namespace lsecheck::sm100 {
namespace {

constexpr std::size_t kDepth = 4;

CombineShape shape_of(int partitions, ExponentForm form, float scale) {
  return {Arch::sm_100a,
          partitions,
          1,
          1,
          static_cast<int>(kDepth),
          DType::f32,
          DType::f32,
          form,
          form == ExponentForm::scaled ? scale : 1.0F};
}

struct Config {
  Fa4WsLevel level;
  int partitions;
};
constexpr Config kConfigs[] = {{Fa4WsLevel::intracta, 2},  {Fa4WsLevel::intracta, 4}, {Fa4WsLevel::level1, 2},
                               {Fa4WsLevel::level1, 4},    {Fa4WsLevel::level2, 1},   {Fa4WsLevel::level2, 2},
                               {Fa4WsLevel::two_level, 4}, {Fa4WsLevel::two_level, 8}};

// How much of the bound is used at most; a value outside it, or of a class that is not due, fails.
class Grader {
 public:
  double use(Fa4WsLevel level, const Fa4WsBatch& batch, const sfu::Unit& unit) {
    const auto m = batch.lse_of_row(0);
    const auto l = batch.mass_of_row(0);
    const auto o = batch.o_of_row(0);
    const auto values = plain_row(level, batch.shape, m, l, o, unit);
    RowInput input{m, o, std::nullopt, l};
    const RowExpectation row = fa4_ws_expectation(level, batch.shape, input, sfu::accuracy_of(unit.kind));
    if (row.row_class == RowClass::all_nan) {
      for (const float value : values) EXPECT_TRUE(std::isnan(value));
      return 0;
    }
    const RowBound bound = fa4_ws_row_bound(level, batch.shape, row, sfu::accuracy_of(unit.kind));
    std::vector<std::uint32_t> bits;
    std::vector<bool> graded;
    for (std::size_t d = 0; d < values.size(); ++d) {
      const int seen = std::isnan(values[d])    ? int{kNaN | kNaNByOverflow}
                       : !std::isinf(values[d]) ? int{kFinite}
                       : values[d] > 0          ? int{kPositiveInf}
                                                : int{kNegativeInf};
      graded.push_back((row.due[d] & ~kNaNByOverflow) == kFinite && !std::isnan(values[d]));
      EXPECT_TRUE(graded.back() || (row.due[d] & seen) != 0)
          << "level " << static_cast<int>(level) << " column " << d << ": " << values[d] << " is not among "
          << int{row.due[d]};
      EXPECT_TRUE(std::isfinite(bound.bound[d]));
      bits.push_back(graded.back() ? std::bit_cast<std::uint32_t>(values[d]) : 0);
    }
    elements += bits.size();
    std::vector<ElementGrade> grades(bits.size());
    reference_->grade_row(row.problem(), {DType::f32, bits, bound.bound, bound.inf_allowed}, grades);
    double largest = 0;
    for (std::size_t d = 0; d < bits.size(); ++d) {
      if (!graded[d]) continue;
      ++finite;
      EXPECT_TRUE(grades[d].within_bound && !grades[d].undecided)
          << "level " << static_cast<int>(level) << " P " << m.size() << " column " << d << ": bound_use "
          << grades[d].bound_use << " of " << bound.bound[d] << ", value " << values[d] << ::testing::PrintToString(m)
          << ::testing::PrintToString(l);
      if (std::isfinite(grades[d].bound_use)) largest = std::max(largest, grades[d].bound_use);
    }
    return largest;
  }
  std::size_t elements = 0;
  std::size_t finite = 0;

 private:
  std::unique_ptr<Reference> reference_ = make_exact_reference();
};

const std::vector<sfu::Unit>& units() {
  static const std::vector<sfu::Unit> all{
      {}, {sfu::UnitKind::spec, 0}, {sfu::UnitKind::spec, 1}, {sfu::UnitKind::spec, 2}, {sfu::UnitKind::spec, 3}};
  return all;
}

// Ordinary attention: exponents a few units apart, masses of some keys, values of one size.
TEST(Fa4WsBound, HoldsOnOrdinaryRowsAndIsNotLoose) {
  Grader grader;
  for (const Config& config : kConfigs) {
    for (const ExponentForm form : {ExponentForm::scaled, ExponentForm::log2}) {
      double largest = 0;
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        Draw draw(seed);
        Fa4WsBatch batch(shape_of(config.partitions, form, 0.127517432F));
        for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
          batch.lse_at(p, 0) = draw.single(-8, 8);
          batch.mass_at(p, 0) = draw.single(1, 64);
          for (std::uint32_t& bits : batch.o_at(p, 0)) bits = std::bit_cast<std::uint32_t>(draw.single(0.5, 2));
        }
        largest = std::max(largest, grader.use(config.level, batch, units()[seed % units().size()]));
      }
      EXPECT_GT(largest, 0.1) << "level " << static_cast<int>(config.level) << " P " << config.partitions;
      EXPECT_LE(largest, 1.0);
    }
  }
  EXPECT_EQ(grader.finite, grader.elements);
}

TEST(Fa4WsBound, HoldsOnNastyRows) {
  Grader grader;
  for (const Config& config : kConfigs) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      Draw draw(seed * 8 + static_cast<std::uint64_t>(config.level));
      const ExponentForm form = seed % 2 == 0 ? ExponentForm::scaled : ExponentForm::log2;
      const float scale = std::array{0.127517432F, 1.0F, 3e-5F, 0x1p100F, 0x1p-126F}[draw.below(5) % 5];
      Fa4WsBatch all(shape_of(config.partitions, form, scale));
      // The kind of row follows from its number; one row per batch here.
      CombineShape fifteen = all.shape;
      fifteen.rows = 15;
      Fa4WsBatch many(fifteen);
      const std::size_t kind = seed % 15;
      draw_row(many, kind, draw, seed % 3 == 0);
      all.lse = many.lse_of_row(kind);
      all.mass = many.mass_of_row(kind);
      all.o = many.o_of_row(kind);
      grader.use(config.level, all, units()[seed % units().size()]);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(grader.finite, grader.elements / 2);
}

// Every combination of extreme exponents, masses and values for two partitions, and for four in two warpgroups.
TEST(Fa4WsBound, HoldsAtTheEdges) {
  Grader grader;
  constexpr float kExponents[] = {0.0F, -126.0F, -125.99F, -126.5F, -127.0F, -1e30F, 0x1p-140F, -0x1p-149F, kEmpty};
  constexpr float kMasses[] = {0.0F, 0x1p-149F, 0x1.8p-127F, 0x1p-126F, 1.0F, 0x1p126F, 0x1.8p126F, 3e38F};
  constexpr float kValues[] = {0.0F, 0x1.4p-128F, -0x1p-126F, 1.25F, 3e38F, -3e38F};
  Draw draw(7);
  for (int turn = 0; turn < 3000; ++turn) {
    const Config& config = kConfigs[draw.below(8)];
    const ExponentForm form = draw.below(2) == 0 ? ExponentForm::scaled : ExponentForm::log2;
    Fa4WsBatch batch(shape_of(config.partitions, form, std::array{1.0F, 2.5F, 0x1p127F}[draw.below(3) % 3]));
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      batch.lse_at(p, 0) = kExponents[draw.below(9)];
      batch.mass_at(p, 0) = kMasses[draw.below(8)];
      for (std::uint32_t& bits : batch.o_at(p, 0)) bits = std::bit_cast<std::uint32_t>(kValues[draw.below(6)]);
    }
    grader.use(config.level, batch, units()[static_cast<std::size_t>(draw.below(5))]);
    if (HasFailure()) return;
  }
}

TEST(Fa4WsBound, CoversTheCast) {
  for (const DType out : {DType::bf16, DType::f16}) {
    CombineShape shape = shape_of(2, ExponentForm::log2, 1);
    shape.out = out;
    const std::vector<float> m{0, 0}, l{1, 1};
    const std::vector<std::uint32_t> o(2 * kDepth, std::bit_cast<std::uint32_t>(1.0F));
    const auto unit = sfu::accuracy_of(sfu::UnitKind::h200);
    const RowExpectation row = fa4_ws_expectation(Fa4WsLevel::intracta, shape, {m, o, std::nullopt, l}, unit);
    const RowBound bound = fa4_ws_row_bound(Fa4WsLevel::intracta, shape, row, unit);
    EXPECT_GE(bound.bound[0], unit_roundoff(out) + bound.bound_before_cast[0]);
    EXPECT_LT(bound.bound[0], 2.1 * unit_roundoff(out));
  }
}

}  // namespace
}  // namespace lsecheck::sm100
