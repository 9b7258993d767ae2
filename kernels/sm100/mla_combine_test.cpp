#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/mla_dispatch.h"
#include "kernels/sm100/test_mla.h"
#include "reference/test_row.h"

// What the two MLA combines compute: cases by hand, every instantiation against the plain loops, bounds and special
// values.
namespace lsecheck::sm100 {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Accumulators = std::vector<float> (*)(const CombineShape&, std::span<const float>, std::span<const std::uint32_t>,
                                            std::optional<float>, const sfu::Unit&);
struct KernelUnderTest {
  const CombineKernel* kernel;
  Accumulators accumulators;
};

class MlaCombine : public ::testing::TestWithParam<KernelUnderTest> {
 protected:
  static const CombineKernel& kernel() { return *GetParam().kernel; }
  static std::vector<std::uint32_t> expected(const MlaBatch& batch, const sfu::Unit& unit) {
    std::vector<std::uint32_t> out;
    for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
      for (const float value :
           GetParam().accumulators(batch.shape, batch.lse_of_row(row), batch.o_of_row(row), batch.sink_of(row), unit)) {
        out.push_back(std::isnan(value) ? nan_bits(batch.shape.out) : round_to_nearest_even(batch.shape.out, value));
      }
    }
    return out;
  }
  static void expect_all(const MlaBatch& batch, double value) {
    for (const KernelVariant& variant : kernel().variants(batch.shape)) {
      EXPECT_THAT(launch_mla_batch(kernel(), batch, variant), Each(round_to_nearest_even(batch.shape.out, value)))
          << variant.name << " S " << batch.shape.num_partitions;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, MlaCombine,
                         ::testing::Values(KernelUnderTest{&mla_combine_kernel(), mla_scalar_accumulators},
                                           KernelUnderTest{&mla_combine_split_parallel_kernel(),
                                                           split_parallel_scalar_accumulators}),
                         [](const auto& test) { return std::string(test.param.kernel->name()); });

CombineShape shape_of(int splits, std::uint32_t rows = 1, std::uint32_t heads = 1, DType type = DType::bf16,
                      int head_dim = 512, Arch arch = Arch::sm_100a) {
  return {arch, splits, rows, heads, head_dim, type, type};
}

TEST_P(MlaCombine, AllEmptyGivesZerosWithAnySink) {
  for (const int splits : {2, 9, 37, 74}) {
    MlaBatch batch(shape_of(splits, 2, 3));
    expect_all(batch, 0.0);
    for (const float sink : {0.0F, 80.0F, -3000.0F, kEmpty}) {
      batch.sink.assign(3, sink);
      expect_all(batch, 0.0);
    }
  }
}

TEST_P(MlaCombine, TheOnlySplitIsReturnedWhereverItIs) {
  for (const int splits : {2, 3, 8, 9, 20, 37, 72}) {
    for (int p = 0; p < splits; p += 5) {
      MlaBatch batch(shape_of(splits));
      batch.fill(static_cast<std::size_t>(p), 0, 12.375F, -3.25);
      expect_all(batch, -3.25);
      batch.sink.assign(1, kEmpty);
      expect_all(batch, -3.25);
    }
  }
}

TEST_P(MlaCombine, ASinkTakesItsShareOfTheMass) {
  MlaBatch batch(shape_of(2));
  batch.fill(0, 0, 0.0F, 3.0);
  batch.sink.assign(1, 0.0F);  // e^0 = 2^0: as much as the only split
  expect_all(batch, 1.5);
  batch.fill(1, 0, 1.0F, -3.0);  // 1 + 2 + 1: (3 - 6) / 4
  expect_all(batch, -0.75);
  batch.fill(1, 0, 1.0F, 3.0);
  batch.sink.assign(1, 1000.0F);  // l, or 2^(a - g), overflows
  expect_all(batch, 0.0);
}

TEST_P(MlaCombine, AnEmptyInTheMiddleIsIgnoredWithTheNanUnderIt) {
  MlaBatch batch(shape_of(3));
  batch.fill(0, 0, 5.0F, 3.0);
  batch.fill(2, 0, 5.0F, 1.0);
  expect_all(batch, 2.0);
}

TEST_P(MlaCombine, RowsDoNotMix) {
  MlaBatch batch(shape_of(4, 7, 11));
  for (std::size_t row = 0; row < 77; ++row)
    batch.fill(row % 4, row, static_cast<float>(row), static_cast<double>(row));
  for (const KernelVariant& variant : kernel().variants(batch.shape)) {
    const auto out = launch_mla_batch(kernel(), batch, variant);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / 512;
      ASSERT_EQ(decode(DType::bf16, out[i]), static_cast<double>(row)) << variant.name;
    }
  }
}

// Rows spread over a few units, over hundreds, and far from zero; a quarter of the splits is empty.
MlaBatch drawn_batch(const CombineShape& shape, Draw& draw, bool with_sink) {
  MlaBatch batch(shape);
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    const double offset = row % 3 == 2 ? 1e4 : 0;
    const double spread = row % 3 == 1 ? 150 : 4;
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      if (draw.below(4) == 0) continue;
      batch.lse_at(p, row) = draw.single(offset - spread, offset + spread);
      for (std::uint32_t& bits : batch.o_at(p, row)) bits = round_to_nearest_even(shape.partial, draw.uniform(-2, 2));
    }
  }
  if (with_sink) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      batch.sink.push_back(draw.below(8) == 0 ? kEmpty : draw.single(-8, 12) + (draw.below(4) == 0 ? 6931.0F : 0.0F));
    }
  }
  return batch;
}

TEST_P(MlaCombine, EqualsThePlainLoopsInEveryInstantiation) {
  Draw draw(1);
  std::uint64_t turn = 0;
  std::size_t instantiations = 0;
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    for (const int head_dim : kMlaHeadDims) {
      for (const int splits : kMlaSplits) {
        if (!mla_in_table(type, head_dim, splits)) continue;
        const auto chip = std::find_if(kAllArchs.begin(), kAllArchs.end(),
                                       [&](Arch arch) { return is_mla_bucket(sm_count_of(arch), splits); });
        ASSERT_NE(chip, kAllArchs.end());
        const MlaBatch batch = drawn_batch(shape_of(splits, 2, 3, type, head_dim, *chip), draw, turn % 3 != 0);
        ExecutionOptions options;
        options.unit = turn % 4 == 3 ? sfu::Unit{} : sfu::Unit{sfu::UnitKind::spec, turn};
        options.schedule = turn % 2 == 0 ? Schedule::lockstep : Schedule::random;
        options.schedule_seed = ++turn;
        const auto due = expected(batch, options.unit);
        for (const KernelVariant& variant : kernel().variants(batch.shape)) {
          instantiations += !variant.ragged;
          ASSERT_EQ(launch_mla_batch(kernel(), batch, variant, options), due)
              << name_of(type) << " D " << head_dim << " S " << splits << " " << variant.name;
        }
      }
    }
  }
  EXPECT_EQ(instantiations, 29U * (kernel().name() == "mla_combine" ? 4 : 1));
}

TEST_P(MlaCombine, NanAndPlusInfLsesGiveNanOnEveryChip) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Arch arch : kAllArchs) {
    for (const int splits : {2, 9, 32, 37, 64}) {
      for (const float special : {NAN, kInfinity}) {
        for (const bool others_empty : {true, false}) {
          for (const float sink : {2.0F, kEmpty}) {
            MlaBatch batch(shape_of(splits, 1, 1, DType::bf16, 512, arch));
            if (!others_empty) {
              for (int p = 0; p < splits; p += 2) batch.fill(static_cast<std::size_t>(p), 0, 1.0F, 1.0);
            }
            batch.fill(static_cast<std::size_t>(splits) - 1, 0, special, 1.0);
            batch.sink.assign(1, sink);
            for (const KernelVariant& variant : kernel().variants(batch.shape)) {
              const auto lse = batch.lse_of_row(0);
              const auto o = batch.o_of_row(0);
              EXPECT_EQ(kernel().expect(batch.shape, variant, {lse, o, sink}, sfu::UnitKind::h200).row_class,
                        RowClass::all_nan);
              ASSERT_THAT(launch_mla_batch(kernel(), batch, variant), Each(nan_bits(DType::bf16)))
                  << name_of(arch) << " S " << splits << " " << variant.name;
            }
          }
        }
      }
    }
  }
}

std::uint8_t due_of(const CombineKernel& kernel, const std::vector<float>& lse, const std::vector<double>& values,
                    std::optional<float> sink = std::nullopt) {
  MlaBatch batch(shape_of(static_cast<int>(lse.size())));
  for (std::size_t p = 0; p < lse.size(); ++p) {
    batch.lse_at(p, 0) = lse[p];
    for (std::uint32_t& bits : batch.o_at(p, 0)) {
      bits = std::isnan(values[p]) ? nan_bits(DType::bf16) : round_to_nearest_even(DType::bf16, values[p]);
    }
  }
  if (sink) batch.sink.assign(1, *sink);
  std::uint8_t due = 0;
  for (const sfu::Unit unit : {sfu::Unit{}, sfu::Unit{sfu::UnitKind::spec, 1}, sfu::Unit{sfu::UnitKind::spec, 2}}) {
    const KernelVariant variant = kernel.variants(batch.shape).front();
    const auto row_lse = batch.lse_of_row(0);
    const auto row_o = batch.o_of_row(0);
    const RowExpectation row = kernel.expect(batch.shape, variant, {row_lse, row_o, sink}, unit.kind);
    due = row.due[0];
    ExecutionOptions options;
    options.unit = unit;
    const std::uint32_t bits = launch_mla_batch(kernel, batch, variant, options)[0];
    const int seen = is_nan(DType::bf16, bits)       ? int{kNaN | kNaNByOverflow}
                     : !is_inf(DType::bf16, bits)    ? kFinite
                     : decode(DType::bf16, bits) > 0 ? int{kPositiveInf}
                                                     : int{kNegativeInf};
    // An Inf where a finite value is due is a matter of the grade.
    const bool overflowed = is_inf(DType::bf16, bits) && (due & kNaNByOverflow) != 0;
    EXPECT_TRUE((due & seen) != 0 || overflowed)
        << kernel.name() << " gave " << std::hex << bits << ::testing::PrintToString(lse);
  }
  return due;
}

TEST(MlaSpecialValues, UnderAWeight) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  struct Line {
    std::vector<float> lse;
    std::vector<double> o;
    int combine;
    int split_parallel;
    std::optional<float> sink = std::nullopt;
  };
  const std::vector<Line> table{
      {{0, kEmpty}, {1, nan}, kFinite, kFinite},
      {{0, -200}, {1, nan}, kFinite, kNaN},
      {{0, -200}, {1, inf}, kFinite, kNaN},
      {{0, -126}, {1, inf}, kFinite | kPositiveInf, kPositiveInf | kNaN},
      {{0, -125.9F}, {1, inf}, kPositiveInf, kPositiveInf},
      {{0, -1}, {-inf, 1}, kNegativeInf, kNegativeInf},
      {{0, -1}, {-inf, inf}, kNaN, kNaN},
      {{0, -1}, {1, nan}, kNaN, kNaN},
      // A sink that drowns every split: mla_combine drops what lies under a weight of 0, 0 times Inf is NaN in the
      // other.
      {{0, -1}, {1, inf}, kFinite, kPositiveInf | kNaN, 200.0F},
      {{0, -1}, {1, 2}, kFinite, kFinite, 200.0F},
      // Factors of 2^-100 twice, in one warp: no factor is flushed, the weight is.
      {{-200, -100, 0, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty},
       {inf, 1, 1, 1, 1, 1, 1, 1, 1},
       kFinite,
       kPositiveInf},
  };
  for (const Line& line : table) {
    EXPECT_EQ(due_of(mla_combine_kernel(), line.lse, line.o, line.sink), line.combine)
        << ::testing::PrintToString(line.lse) << ::testing::PrintToString(line.o);
    EXPECT_EQ(due_of(mla_combine_split_parallel_kernel(), line.lse, line.o, line.sink), line.split_parallel)
        << ::testing::PrintToString(line.lse) << ::testing::PrintToString(line.o);
  }
}

TEST(MlaSpecialValues, UndividedSumsMayOverflowToInfOrNan) {
  const double huge = max_finite(DType::bf16);
  EXPECT_EQ(due_of(mla_combine_split_parallel_kernel(), {0, 0}, {huge, huge}), kFinite | kNaNByOverflow);
  EXPECT_EQ(due_of(mla_combine_kernel(), {0, 0}, {huge, huge}), kFinite);
}

// The f32 value before the cast against the exact one, as a share of the bound: never above 1, and not a bound that any
// kernel would meet.
TEST_P(MlaCombine, BoundHoldsForEveryUnitAndIsNotLoose) {
  const auto reference = make_exact_reference();
  constexpr std::array<int, 4> kSplits{2, 9, 37, 72};
  for (const sfu::UnitKind kind : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    double largest = 0;
    for (std::uint64_t i = 0; i < 120; ++i) {
      Draw draw(i);
      const int splits = kSplits[i % kSplits.size()];
      const CombineShape shape = shape_of(splits, 1, 1, DType::f32, 8);
      MlaBatch batch(shape);
      const double offset = std::array{0.0, 0.0, 300.0, -1e5, 1e6}[i / 4 % 5];
      const double spread = std::array{0.5, 4.0, 30.0, 140.0}[i / 20 % 4];
      for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
        if (draw.below(5) == 0) continue;
        batch.lse_at(p, 0) = draw.single(offset - spread, offset + spread);
        for (std::uint32_t& bits : batch.o_at(p, 0)) bits = round_to_nearest_even(DType::f32, draw.uniform(0.5, 2));
      }
      batch.fill(0, 0, draw.single(offset - spread, offset + spread), 1.25);
      std::optional<float> sink;
      if (i % 3 != 0) sink = static_cast<float>((offset + draw.uniform(-2 * spread, 2 * spread)) * 0.6931);
      if (i % 7 == 3) sink = kEmpty;
      const auto lse = batch.lse_of_row(0);
      const auto o = batch.o_of_row(0);
      const RowExpectation row = kernel().expect(shape, {}, {lse, o, sink}, kind);
      ASSERT_EQ(row.row_class, RowClass::finite);
      const RowBound bound = kernel().bound(shape, row, kind);
      for (std::uint64_t seed = 0; seed < (kind == sfu::UnitKind::spec ? 4 : 1); ++seed) {
        const auto acc = GetParam().accumulators(shape, lse, o, sink, {kind, seed});
        std::vector<std::uint32_t> bits;
        bits.reserve(acc.size());
        for (const float value : acc) bits.push_back(std::bit_cast<std::uint32_t>(value));
        std::vector<ElementGrade> grades(bits.size());
        reference->grade_row(row.problem(), {DType::f32, bits, bound.bound_before_cast, bound.inf_allowed}, grades);
        for (const ElementGrade& grade : grades) {
          ASSERT_TRUE(grade.within_bound && !grade.undecided)
              << "row " << i << " seed " << seed << ": " << grade.bound_use;
          largest = std::max(largest, grade.bound_use);
        }
      }
    }
    EXPECT_GT(largest, 0.2) << name_of(kind);
    EXPECT_LE(largest, 1.0);
  }
}

TEST_P(MlaCombine, RefusesByName) {
  const auto refusal = [](const CombineShape& shape) { return kernel().refuse(shape).value_or("accepted"); };
  EXPECT_EQ(refusal(shape_of(74)), "accepted");
  EXPECT_THAT(refusal(shape_of(5)), AllOf(HasSubstr("num_partitions = 5: on sm_100a"), HasSubstr("64, 72, 74 (bf16")));
  EXPECT_THAT(refusal(shape_of(1)), HasSubstr("num_partitions = 1"));
  EXPECT_THAT(refusal(shape_of(74, 1, 1, DType::bf16, 512, Arch::sm_103a)), HasSubstr("64, 72, 80"));
  EXPECT_THAT(refusal(shape_of(72, 1, 1, DType::bf16, 512, Arch::sm_90)), HasSubstr("64, 66"));
  EXPECT_THAT(refusal(shape_of(2, 1, 1, DType::bf16, 128)), HasSubstr("ov_depth = 128"));
  EXPECT_THAT(refusal(shape_of(2, 0, 1)), HasSubstr("rows = 0"));
  EXPECT_THAT(refusal(shape_of(2, 1, 65536)), HasSubstr("heads = 65536"));
  CombineShape mixed = shape_of(2);
  mixed.partial = DType::f32;
  EXPECT_THAT(refusal(mixed), HasSubstr("partials f32 with output bf16"));
}

TEST_P(MlaCombine, LaunchableCountsAreTheNextBuckets) {
  EXPECT_EQ(kernel().launchable_partitions(shape_of(1)), 2);
  EXPECT_EQ(kernel().launchable_partitions(shape_of(5)), 8);
  EXPECT_EQ(kernel().launchable_partitions(shape_of(73)), 74);
  EXPECT_EQ(kernel().launchable_partitions(shape_of(75)), std::nullopt);
  EXPECT_EQ(kernel().launchable_partitions(shape_of(3, 1, 1, DType::f16)), 9);
}

TEST(MlaVariants, ProductionsChoiceComesFirst) {
  const auto names = [](const CombineShape& shape) {
    std::vector<std::string> result;
    for (const KernelVariant& variant : mla_combine_kernel().variants(shape)) result.push_back(variant.name);
    return result;
  };
  EXPECT_THAT(names(shape_of(8, 1, 128)),
              ElementsAre("wph8", "wph4", "wph2", "wph1", "wph8_ragged", "wph4_ragged", "wph2_ragged", "wph1_ragged"));
  EXPECT_EQ(names(shape_of(8, 16, 128)).front(), "wph4");
  EXPECT_EQ(names(shape_of(8, 64, 128)).front(), "wph2");
  EXPECT_EQ(names(shape_of(4, 128, 128)).front(), "wph1");
}

}  // namespace
}  // namespace lsecheck::sm100
