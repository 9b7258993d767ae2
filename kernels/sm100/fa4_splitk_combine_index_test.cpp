#include <gtest/gtest.h>

#include "kernels/simt/sparse_buffer.h"
#include "kernels/sm100/fa4_instances.h"
#include "kernels/sm100/test_combine.h"

// The largest grid there is, in memory that exists only where it is touched: every index beyond 32 bits, and a count of
// row-heads (a prime) that is a multiple of nothing.
namespace lsecheck::sm100 {
namespace {

using simt::SparseBuffer;

class Fa4IndexWidth : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(VectorAndScalarDepths, Fa4IndexWidth, ::testing::Values(64, 72));

TEST_P(Fa4IndexWidth, FirstAndLastRowOfTheLargestGrid) {
  constexpr std::size_t kRowsHeads = 2147483647;
  constexpr std::size_t kPartitions = 8;
  const auto depth = static_cast<std::size_t>(GetParam());
  const CombineShape shape{Arch::sm_100a, kPartitions, static_cast<std::uint32_t>(kRowsHeads), 1, GetParam(),
                           DType::bf16,   DType::bf16};
  ASSERT_EQ(fa4_combine_kernel().refuse(shape), std::nullopt);
  SparseBuffer lse(kPartitions * kRowsHeads * sizeof(float));
  SparseBuffer o(kPartitions * kRowsHeads * depth * sizeof(std::uint16_t));
  SparseBuffer output(kRowsHeads * depth * sizeof(std::uint16_t));
  ASSERT_TRUE(lse.mapped() && o.mapped() && output.mapped())
      << "cannot reserve 3 TB of address space: is vm.overcommit_memory 2, or the address space limited?";

  // Partition p holds p + 1 (first row) or -(p + 1) (last row); only partitions 0 and 7 are not empty, with equal LSEs.
  const auto value_of = [](std::size_t p, bool last) {
    const double value = static_cast<double>(p) + 1;
    return static_cast<std::uint16_t>(round_to_nearest_even(DType::bf16, last ? -value : value));
  };
  for (std::size_t p = 0; p < kPartitions; ++p) {
    for (const std::size_t row : {std::size_t{0}, kRowsHeads - 1}) {
      lse.as<float>()[p * kRowsHeads + row] = p == 0 || p == 7 ? 2.5F : kEmpty;
      std::uint16_t* const values = o.as<std::uint16_t>() + (p * kRowsHeads + row) * depth;
      for (std::size_t d = 0; d < depth; ++d) values[d] = value_of(p, row > 0);
    }
  }

  for (const KernelVariant& variant : fa4_combine_kernel().variants(shape)) {
    const std::span<std::uint16_t> first(output.as<std::uint16_t>(), 2 * depth);
    const std::span<std::uint16_t> last(output.as<std::uint16_t>() + (kRowsHeads - 2) * depth, 2 * depth);
    for (std::size_t i = 0; i < 2 * depth; ++i) first[i] = last[i] = 0x1234;
    ExecutionOptions options;
    const Fa4Grid grid = fa4_grid(shape.partial, shape.ov_depth, variant.load_bytes, kRowsHeads);
    options.only_blocks = std::vector<std::uint64_t>{0, grid.blocks - 1};
    const auto fault = fa4_combine_kernel().launch(shape, variant, {lse.bytes(), o.bytes(), output.bytes()}, options);
    ASSERT_FALSE(fault.has_value()) << fault->message;
    for (std::size_t d = 0; d < depth; ++d) {
      EXPECT_EQ(decode(DType::bf16, first[d]), 4.5) << variant.name;
      EXPECT_EQ(decode(DType::bf16, last[depth + d]), -4.5) << variant.name;
      if (variant.load_bytes > 0) continue;  // their blocks hold several rows
      EXPECT_EQ(first[depth + d], 0x1234) << "the second row was written";
      EXPECT_EQ(last[d], 0x1234) << "the last row but one was written";
    }
  }
}

}  // namespace
}  // namespace lsecheck::sm100
