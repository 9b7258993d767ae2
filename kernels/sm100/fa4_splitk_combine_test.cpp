#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sm100/fa4_instantiation_table.h"
#include "kernels/sm100/test_combine.h"

// What fa4_splitk_combine.cuh computes: cases by hand, then every depth and type pair against the plain loops.
namespace lsecheck::sm100 {
namespace {

using ::testing::Each;

class Fa4CombineByHand : public ::testing::TestWithParam<Arch> {
 protected:
  CombineShape shape(int num_partitions) const {
    return {GetParam(), num_partitions, 1, 1, 128, DType::bf16, DType::bf16};
  }
  static void expect_all(const RowBatch& batch, double value) {
    const std::uint32_t bits = round_to_nearest_even(batch.shape.out, value);
    for (const KernelVariant& variant : fa4_combine_kernel().variants(batch.shape)) {
      EXPECT_THAT(launch(batch, variant), Each(bits)) << variant.name << " P " << batch.shape.num_partitions;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Archs, Fa4CombineByHand, ::testing::ValuesIn(kAllArchs),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_P(Fa4CombineByHand, OnePartitionIsReturned) {
  RowBatch batch(shape(1));
  batch.fill(0, 0, 12.375F, -3.25);
  expect_all(batch, -3.25);
}

TEST_P(Fa4CombineByHand, AllEmptyGivesPlusZeroOverAnyBits) {
  for (const int p : {1, 2, 33, 64, 160}) expect_all(RowBatch(shape(p)), 0.0);
}

TEST_P(Fa4CombineByHand, TwoEqualLsesGiveTheMean) {
  RowBatch batch(shape(2));
  batch.fill(0, 0, -7.0F, 3.0);
  batch.fill(1, 0, -7.0F, 1.0);
  expect_all(batch, 2.0);
}

TEST_P(Fa4CombineByHand, AnEmptyInTheMiddleIsIgnoredWithTheNanUnderIt) {
  RowBatch batch(shape(3));
  batch.fill(0, 0, 5.0F, 3.0);
  batch.fill(2, 0, 5.0F, 1.0);
  expect_all(batch, 2.0);
}

TEST_P(Fa4CombineByHand, TheOnlyPartitionMayBeTheLastOfTheLastSlot) {
  for (const int p : {2, 32, 33, 64, 65, 97, 128, 129, 160}) {
    RowBatch batch(shape(p));
    batch.fill(static_cast<std::size_t>(p) - 1, 0, 0.625F, 1.5);
    expect_all(batch, 1.5);
  }
}

// 2^24 absorbs the log2 of the sum: each of two equal partitions gets the weight 1.
TEST_P(Fa4CombineByHand, HugeLsesAbsorbTheLogarithm) {
  RowBatch batch(shape(2));
  batch.fill(0, 0, 0x1p26F, 3.0);
  batch.fill(1, 0, 0x1p26F, 1.0);
  expect_all(batch, 4.0);
}

// A sum of -0 stays -0 where a partition of weight 0 is skipped, and becomes +0 where it is folded as fma(0, 0, -0).
TEST_P(Fa4CombineByHand, APartitionOfWeightZeroIsFoldedByVectorsAndSkippedByScalars) {
  for (const int depth : {64, 72}) {
    RowBatch batch({GetParam(), 5, 1, 1, depth, DType::f16, DType::f32});
    for (std::size_t p = 0; p < 4; ++p) batch.fill(p, 0, 0.0F, -0x1p-149);  // a quarter of it rounds to -0
    batch.fill(4, 0, -200.0F, 1.0);
    const std::uint32_t zero = depth == 72 ? 0x8000U : 0U;
    EXPECT_THAT(launch(batch, variant_named(batch.shape, "runtime")), Each(zero)) << "depth " << depth;
  }
}

TEST_P(Fa4CombineByHand, RowsDoNotMix) {
  RowBatch batch([&] {
    CombineShape result = shape(5);
    result.rows = 7;
    result.heads = 3;
    return result;
  }());
  for (std::size_t row = 0; row < 21; ++row)
    batch.fill(row % 5, row, static_cast<float>(row), static_cast<double>(row));
  const std::vector<std::uint32_t> out = launch(batch, variant_named(batch.shape, "runtime"));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / 128;
    ASSERT_EQ(decode(DType::bf16, out[i]), static_cast<double>(row));
  }
}

// Three rows: spread over a few units, over hundreds, and a large common offset; a quarter of the partitions is empty.
RowBatch drawn_batch(const CombineShape& shape, Draw& draw) {
  RowBatch batch(shape);
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    const double offset = row % 3 == 2 ? 1e4 : 0;
    const double spread = row % 3 == 1 ? 150 : 4;
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      if (draw.below(4) == 0) continue;
      batch.lse_at(p, row) = draw.single(offset - spread, offset + spread);
      for (std::uint32_t& bits : batch.o_at(p, row)) bits = round_to_nearest_even(shape.partial, draw.uniform(-2, 2));
    }
  }
  return batch;
}

std::vector<std::uint32_t> scalar_batch(const RowBatch& batch, int p_static, const sfu::Unit& unit) {
  std::vector<std::uint32_t> out;
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    const auto bits = scalar_row(batch.shape, p_static, batch.lse_of_row(row), batch.o_of_row(row), unit);
    out.insert(out.end(), bits.begin(), bits.end());
  }
  return out;
}

class Fa4CombineBits : public ::testing::TestWithParam<TypePair> {};
INSTANTIATE_TEST_SUITE_P(TypePairs, Fa4CombineBits, ::testing::ValuesIn(kTypePairs), [](const auto& test) {
  return std::string(name_of(test.param.out)) + "_from_" + std::string(name_of(test.param.partial));
});

TEST_P(Fa4CombineBits, EqualThePlainLoops) {
  const auto [out, partial] = GetParam();
  Draw draw(1);
  std::size_t turn = 0;
  for (const int depth : kFa4Depths) {
    for (const int p : {1, 2, 8, 31, 32, 33, 64, 65, 96, 129, 132, 148, 160}) {
      CombineShape shape{Arch::sm_100a, p, 3, 1, depth, out, partial};
      shape.arch = p == 132 ? Arch::sm_90 : p == 160 ? Arch::sm_103a : p == 148 ? Arch::sm_100a : kAllArchs[turn % 3];
      const RowBatch batch = drawn_batch(shape, draw);
      // The measured unit, then the four tempers of the adversary.
      ExecutionOptions options;
      options.unit = turn % 5 == 4 ? sfu::Unit{} : sfu::Unit{sfu::UnitKind::spec, turn};
      ++turn;
      for (const KernelVariant& variant : fa4_combine_kernel().variants(shape)) {
        const std::vector<std::uint32_t> expected = scalar_batch(batch, variant.p_static, options.unit);
        for (const Schedule schedule : {Schedule::lockstep, Schedule::random}) {
          options.schedule = schedule;
          options.schedule_seed = turn;
          ASSERT_EQ(launch(batch, variant, options), expected)
              << "depth " << depth << " P " << p << " " << variant.name << " " << name_of(schedule);
        }
      }
    }
  }
}

// Every rung of every ladder, production types and depths.
TEST(Fa4CombineRungs, EqualThePlainLoops) {
  Draw draw(2);
  for (const Arch arch : kAllArchs) {
    for (const int p : splitk_p_ladder(sm_count_of(arch))) {
      for (const DType type : {DType::bf16, DType::f16}) {
        for (const int depth : {64, 128, 256, 512}) {
          const RowBatch batch = drawn_batch({arch, p, 2, 1, depth, type, type}, draw);
          const KernelVariant rung = variant_named(batch.shape, "rung");
          ASSERT_EQ(launch(batch, rung), scalar_batch(batch, p, {}))
              << name_of(arch) << " P " << p << " " << name_of(type) << " depth " << depth;
        }
      }
    }
  }
}

TEST(Fa4CombineJobs, DoNotChangeTheResult) {
  Draw draw(3);
  const RowBatch batch = drawn_batch({Arch::sm_100a, 37, 11, 7, 128, DType::bf16, DType::bf16}, draw);
  ExecutionOptions options;
  const KernelVariant runtime = variant_named(batch.shape, "runtime");
  const std::vector<std::uint32_t> one_job = launch(batch, runtime, options);
  EXPECT_EQ(one_job, scalar_batch(batch, 0, {}));
  options.jobs = 3;
  EXPECT_EQ(launch(batch, runtime, options), one_job);
}

}  // namespace
}  // namespace lsecheck::sm100
