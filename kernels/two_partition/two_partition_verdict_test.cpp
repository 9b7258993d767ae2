#include "kernels/two_partition/two_partition_verdict.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/combine_kernel.h"
#include "kernels/registry.h"
#include "kernels/two_partition/two_partition_shape.h"
#include "kernels/two_partition/two_partition_sweep.h"
#include "reference/certified_reference.h"

// What a device decides, decided here by the same code and held against the contract, the bound and the certified
// reference.
namespace lsecheck::two_partition {
namespace {

constexpr sfu::UnitKind kUnit = sfu::UnitKind::h200;

struct HostRow {
  RowExpectation expectation;
  RowBound bound;
};

HostRow host_row(Kernel which, float z) {
  const CombineKernel& kernel = *find_kernel(name_of(which));
  CombineShape shape = sweep_shape(which, kHeads);
  shape.ov_depth = kValuePairs;
  const std::vector<float> lse{0.0F, z};
  std::vector<std::uint32_t> o;
  for (const bool second : {false, true}) {
    for (int i = 0; i < kValuePairs; ++i) {
      o.push_back(std::bit_cast<std::uint32_t>(second ? value_pair(i).second : value_pair(i).first));
    }
  }
  HostRow row;
  row.expectation = kernel.expect(shape, sweep_variant(which), {lse, o}, kUnit);
  if (row.expectation.row_class == RowClass::finite) row.bound = kernel.bound(shape, row.expectation, kUnit);
  return row;
}

// Bits of LSEs in every binade, the special ones and those where something changes.
std::vector<std::uint32_t> lse_patterns() {
  std::vector<std::uint32_t> patterns;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1'500'007) {
    patterns.push_back(static_cast<std::uint32_t>(bits));
  }
  for (const float z : {0.0F, 0.5F, 1.0F, 2.0F, 24.0F, 25.0F, 126.0F, 127.0F, 149.0F, 150.0F, 1000.0F, 0x1p-149F}) {
    for (const float edge : {std::nextafter(z, -1.0F), z, std::nextafter(z, 2000.0F)}) {
      patterns.push_back(std::bit_cast<std::uint32_t>(edge));
      patterns.push_back(std::bit_cast<std::uint32_t>(-edge));
    }
  }
  patterns.push_back(0xff800000U);
  std::erase_if(patterns, makes_row_nan);
  return patterns;
}

template <Kernel kernel>
void expect_host_bounds() {
  for (const std::uint32_t bits : lse_patterns()) {
    const float z = std::bit_cast<float>(bits);
    const HostRow row = host_row(kernel, z);
    ASSERT_EQ(row.expectation.row_class, RowClass::finite) << z;
    const RowErrors<kernel> errors(static_cast<double>(z), sfu::accuracy_of(kUnit));
    for (int i = 0; i < kValuePairs; ++i) {
      EXPECT_EQ(errors.bound(value_pair(i)), row.bound.bound[static_cast<std::size_t>(i)]) << z << ", column " << i;
      EXPECT_FALSE(row.bound.inf_allowed[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(TwoPartitionVerdict, BoundsAreTheHostsToTheBit) {
  expect_host_bounds<Kernel::fa4>();
  expect_host_bounds<Kernel::split_parallel>();
}

// Outputs near x, and anything at all.
std::uint32_t some_output(double x, std::mt19937_64& random) {
  const std::uint64_t word = random();
  if (word % 16 == 0) return static_cast<std::uint32_t>(random()) & 0xff7fffffU;
  const std::uint32_t rounded = round_to_nearest_even(DType::f32, x);
  return rounded + static_cast<std::uint32_t>(word >> 32) % 5 - (rounded % 0x80000000U < 2 ? 0 : 2);
}

TEST(TwoPartitionVerdict, DecidesAsTheCertifiedReference) {
  std::mt19937_64 random(5);
  const auto reference = make_certified_reference();
  std::uint64_t elements = 0, decided = 0;
  for (const std::uint32_t bits : lse_patterns()) {
    const float z = std::bit_cast<float>(bits);
    const HostRow row = host_row(Kernel::fa4, z);
    const TwoWeights weights = two_weights(static_cast<double>(z));
    std::vector<std::uint32_t> out;
    for (int i = 0; i < kValuePairs; ++i) {
      const Enclosure x = two_partition_column(weights, i).x;
      out.push_back(some_output(x.anchor + x.delta, random));
    }
    std::vector<ElementGrade> due(out.size());
    reference->grade_row(row.expectation.problem(), {DType::f32, out, row.bound.bound, row.bound.inf_allowed}, due);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Verdict verdict =
          verdict_on<Kernel::fa4>(static_cast<double>(z), static_cast<int>(i), out[i], sfu::accuracy_of(kUnit));
      ++elements;
      if (!verdict.decided) continue;
      ++decided;
      EXPECT_EQ(verdict.grade, due[i]) << z << ", column " << i << ", output " << std::hex << out[i] << "\n"
                                       << verdict.grade.ulp << " " << due[i].ulp << "; " << verdict.grade.scaled_ulp
                                       << " " << due[i].scaled_ulp << "; " << verdict.grade.bound_use << " "
                                       << due[i].bound_use << "; " << verdict.grade.steps << " " << due[i].steps << "; "
                                       << verdict.grade.correctly_rounded << " " << due[i].correctly_rounded;
    }
  }
  EXPECT_GT(decided * 1000, elements * 999) << decided << " of " << elements;
}

TEST(TwoPartitionVerdict, LeavesWhatIsNotFiniteOpen) {
  const sfu::UnitAccuracy unit = sfu::accuracy_of(kUnit);
  for (const std::uint32_t bits : {0x7f800000U, 0xff800000U, 0x7fc00000U}) {
    EXPECT_FALSE(verdict_on<Kernel::fa4>(1, 0, bits, unit).decided);
  }
}

TEST(TwoPartitionSweep, StridedOnTheCpuIsClean) {
  for (const Kernel kernel : {Kernel::fa4, Kernel::split_parallel}) {
    const SweepResult result = sweep(kernel, Backend::cpu, 8'388'617);
    EXPECT_EQ(result.rows, 512U);
    EXPECT_EQ(result.failure_count, 0U);
    EXPECT_GT(result.nan_rows, 0U);
    for (const ColumnTally& column : result.columns) {
      EXPECT_EQ(column.graded + result.nan_rows, result.rows);
      EXPECT_LE(column.bound_use.value, 1);
    }
    // (1, 1) is exactly 1, (1, -1) the difference of two weights.
    EXPECT_EQ(result.columns[2].zeros, 0U);
  }
}

TEST(ColumnTally, MergesInAnyOrder) {
  ElementGrade small, large;
  small.ulp = 0.5;
  large.ulp = 3;
  large.steps = 2;
  ColumnTally one, two, forward, backward;
  one.add(7, 1, small);
  one.add(3, 0, small);
  two.add(9, 1, large);
  forward.merge(one);
  forward.merge(two);
  backward.merge(two);
  backward.merge(one);
  EXPECT_EQ(forward.ulp.value, 3);
  EXPECT_EQ(forward.ulp.lse_bits, backward.ulp.lse_bits);
  EXPECT_EQ(one.ulp.lse_bits, 3U);  // the least of equal ones
  EXPECT_EQ(forward.graded, 3U);
  EXPECT_EQ(backward.correctly_rounded, 2U);
  EXPECT_EQ(backward.zeros, 1U);
}

}  // namespace
}  // namespace lsecheck::two_partition
