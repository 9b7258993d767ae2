#include "kernels/pair_sweep.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/grade.h"
#include "reference/metric_grid.h"

namespace lsecheck {
namespace {

// The exact reference's grade of one column.
double exact_scaled_ulp(Reference& reference, float lse_1, std::size_t column, float y) {
  const std::vector<double> x{0.0, static_cast<double>(lse_1)};
  const std::vector<double> a{kPairValues[column][0], kPairValues[column][1]};
  const std::vector<std::uint32_t> bits{std::bit_cast<std::uint32_t>(y)};
  const std::vector<double> bound{1.0};
  std::vector<ElementGrade> grades(1);
  reference.grade_row({ExponentBase::log2, x, {}, a, 1, std::nullopt}, {DType::f32, bits, bound, {}}, grades);
  return grades[0].scaled_ulp;
}

// Every binade of lse_1, both signs, values beside the powers of two; y somewhat off, on either side.
TEST(PairErrors, AreUpperBoundsAndHardlyLarger) {
  const auto reference = make_exact_reference();
  int compared = 0;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const std::uint32_t fraction : {0U, 1U, 0x7fffffU, 0x2aaaabU}) {
      for (const std::uint32_t sign : {0U, 0x80000000U}) {
        const auto lse_1 = std::bit_cast<float>(sign | exponent << 23 | fraction);
        const double u = std::exp2(-std::fabs(static_cast<double>(lse_1)));
        const double smaller = u / (1 + u);
        const double larger = 1 / (1 + u);
        const bool second = lse_1 > 0;
        const double difference = (1 - u) / (1 + u) * (second ? -1 : 1);
        const double near[kPairColumns] = {second ? smaller : larger, second ? larger : smaller, 1, difference};
        for (const double factor : {1.0, 1 + 0x1p-21, 1 - 0x1p-22}) {
          float y[kPairColumns];
          for (std::size_t i = 0; i < kPairColumns; ++i) y[i] = static_cast<float>(near[i] * factor);
          const PairErrors errors = pair_errors(lse_1, y);
          for (std::size_t i = 0; i < kPairColumns; ++i) {
            const double exact = exact_scaled_ulp(*reference, lse_1, i, y[i]);
            const auto bound = static_cast<double>(errors.scaled_ulp[i]);
            // The grade is on the grid, rounded up: the bound may lie in the same cell.
            ASSERT_LE(exact, metric_on_grid(bound)) << lse_1 << " column " << i << " factor " << factor;
            ASSERT_LE(bound, metric_cell_top(exact) + 0x1p-20) << lse_1 << " column " << i << " factor " << factor;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 255 * 4 * 2 * 3 * 4);
}

TEST(PairErrors, AResultThatIsNotFiniteIsAnInfiniteError) {
  const float y[kPairColumns] = {std::numeric_limits<float>::quiet_NaN(), INFINITY, 1, 0};
  const PairErrors errors = pair_errors(0.0F, y);
  EXPECT_EQ(errors.scaled_ulp[0], INFINITY);
  EXPECT_EQ(errors.scaled_ulp[1], INFINITY);
  EXPECT_EQ(errors.scaled_ulp[2], 0.0F);
}

TEST(PairSpecials, FollowTheContract) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float all_nan[kPairColumns] = {nan, nan, nan, nan};
  const float first_alone[kPairColumns] = {1, 0, 1, 1};
  EXPECT_TRUE(pair_special_holds(nan, all_nan));
  EXPECT_TRUE(pair_special_holds(INFINITY, all_nan));
  EXPECT_TRUE(pair_special_holds(-INFINITY, first_alone));
  EXPECT_FALSE(pair_special_holds(nan, first_alone));
  EXPECT_FALSE(pair_special_holds(-INFINITY, all_nan));
}

TEST(PairSweep, ASampleOfBothKernels) {
  for (const char* kernel : {"fa4_splitk_combine", "mla_combine_split_parallel"}) {
    const PairSweepResult result = sweep_pairs_on_cpu(kernel, 4'000'037);
    EXPECT_EQ(result.finite + result.special, (std::uint64_t{1} << 32) / 4'000'037 + 1);
    EXPECT_GT(result.special, 0U);
    EXPECT_EQ(result.special_violations, 0U) << kernel;
    EXPECT_EQ(result.column_mismatches, 0U) << kernel;
    for (const PairMaximum& maximum : result.ordinary) {
      EXPECT_LT(maximum.scaled_ulp, 64.0F) << kernel;
      EXPECT_LE(std::fabs(std::bit_cast<float>(maximum.lse_1_bits)), kPairOrdinary);
    }
    EXPECT_GT(result.all[1].scaled_ulp, 1000.0F) << "a weight below 2^-126 is flushed";
  }
}

}  // namespace
}  // namespace lsecheck
