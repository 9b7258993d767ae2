#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/simt/sparse_buffer.h"
#include "kernels/sm100/mla_launch.h"
#include "kernels/sm100/test_mla.h"

// Grids at the limits of each axis, in memory that exists only where it is touched: the first and the last row-head of
// workspaces far beyond 2^32 elements.
namespace lsecheck::sm100 {
namespace {

using simt::SparseBuffer;

using ::testing::Each;

constexpr std::size_t kSplits = 4;
constexpr std::size_t kDepth = 512;
constexpr std::uint16_t kUntouched = 0x1234;
constexpr const char* kNoAddressSpace =
    "cannot reserve 20 TB of address space: is vm.overcommit_memory 2, or the address space limited?";

std::uint16_t bf16_bits(double value) {
  return static_cast<std::uint16_t>(round_to_nearest_even(DType::bf16, value));
}

// Workspace and output of [rows, heads], and the two row-heads that a test fills and looks at.
struct SparseCase {
  SparseBuffer lse, o, output;
  std::size_t workspace_row_heads, output_row_heads;

  SparseCase(std::size_t workspace, std::size_t outputs)
      : lse(kSplits * workspace * sizeof(float)),
        o(kSplits * workspace * kDepth * 2),
        output(outputs * kDepth * 2),
        workspace_row_heads(workspace),
        output_row_heads(outputs) {}

  bool mapped() const { return lse.mapped() && o.mapped() && output.mapped(); }

  // Split p holds sign * (p + 1); the first and the last split are not empty, with equal LSEs: their mean is due.
  void fill(std::size_t row_head, double sign) {
    for (std::size_t p = 0; p < kSplits; ++p) {
      lse.as<float>()[p * workspace_row_heads + row_head] = p == 0 || p == kSplits - 1 ? 2.5F : kEmpty;
      std::uint16_t* const values = o.as<std::uint16_t>() + (p * workspace_row_heads + row_head) * kDepth;
      std::fill(values, values + kDepth, bf16_bits(sign * (static_cast<double>(p) + 1)));
    }
  }
  std::span<std::uint16_t> output_of(std::size_t row_head) {
    return {output.as<std::uint16_t>() + row_head * kDepth, kDepth};
  }
  // first_untouched: the first row-head that is not in the first block.
  void poison(std::size_t first_untouched) {
    for (const std::size_t row_head : {std::size_t{0}, first_untouched, output_row_heads - 2, output_row_heads - 1}) {
      std::ranges::fill(output_of(row_head), kUntouched);
    }
  }
  void expect_first_and_last_written(std::size_t first_untouched) {
    EXPECT_THAT(output_of(0), Each(bf16_bits(2.5)));
    EXPECT_THAT(output_of(first_untouched), Each(kUntouched));
    EXPECT_THAT(output_of(output_row_heads - 2), Each(kUntouched));
    EXPECT_THAT(output_of(output_row_heads - 1), Each(bf16_bits(-2.5)));
  }
};

struct Extent {
  std::uint32_t rows, heads;
};

class MlaIndexWidth : public ::testing::TestWithParam<Extent> {};
// A prime is a multiple of nothing: sequences of one position, and blocks that are not full.
INSTANTIATE_TEST_SUITE_P(LargestGrids, MlaIndexWidth, ::testing::Values(Extent{2147483647, 1}, Extent{32749, 65521}));

TEST_P(MlaIndexWidth, FirstAndLastRowHeadOfADenseWorkspace) {
  const CombineShape shape{Arch::sm_100a, kSplits,     GetParam().rows, GetParam().heads,
                           int{kDepth},   DType::bf16, DType::bf16};
  SparseCase memory(shape.rows_heads(), shape.rows_heads());
  ASSERT_TRUE(memory.mapped()) << kNoAddressSpace;
  memory.fill(0, 1);
  memory.fill(shape.rows_heads() - 1, -1);
  for (const CombineKernel* kernel : {&mla_combine_kernel(), &mla_combine_split_parallel_kernel()}) {
    ASSERT_EQ(kernel->refuse(shape), std::nullopt);
    for (const KernelVariant& variant : kernel->variants(shape)) {
      // A padded copy of the workspace would be real memory; the test below has ragged rows.
      if (variant.ragged) continue;
      SCOPED_TRACE(std::string(kernel->name()) + " " + variant.name);
      const simt::Dim3 grid = mla_grid(mla_launch_plan(shape.rows, false), shape.heads, variant.warps_per_head);
      const std::size_t heads_of_first_block = grid.z == 1 ? shape.heads : shape.heads / grid.z + 1;
      memory.poison(heads_of_first_block);
      ExecutionOptions options;
      options.only_blocks = std::vector<std::uint64_t>{0, std::uint64_t{grid.x} * grid.y * grid.z - 1};
      const auto fault =
          kernel->launch(shape, variant, {memory.lse.bytes(), memory.o.bytes(), memory.output.bytes()}, options);
      ASSERT_FALSE(fault.has_value()) << fault->message;
      memory.expect_first_and_last_written(heads_of_first_block);
    }
  }
}

TEST(MlaIndexWidthRagged, FirstAndLastRowOfMoreThan2To31) {
  constexpr std::uint32_t kBatch = 1000000007;  // sequences of 1 position and, the last one, of 3
  constexpr std::uint32_t kPadded = 3;
  constexpr std::uint32_t kRows = 3000000019;
  SparseCase memory(std::size_t{kBatch} * kPadded, kRows);
  SparseBuffer offsets((std::size_t{kBatch} + 1) * sizeof(std::uint32_t));
  ASSERT_TRUE(memory.mapped() && offsets.mapped()) << kNoAddressSpace;
  offsets.as<std::uint32_t>()[1] = 1;
  offsets.as<std::uint32_t>()[kBatch - 1] = kRows - 3;
  offsets.as<std::uint32_t>()[kBatch] = kRows;
  memory.fill(0, 1);
  memory.fill(std::size_t{kBatch} * kPadded - 1, -1);

  MlaArguments arguments;
  arguments.lse_partial = memory.lse.as<float>();
  arguments.o_partial = memory.o.as<std::byte>();
  arguments.output = memory.output.as<std::byte>();
  arguments.geometry = {kBatch, kPadded, 1, offsets.as<std::uint32_t>()};
  for (const int warps_per_head : {kSplitParallelInstance, 1, 2, 4, 8}) {
    SCOPED_TRACE(warps_per_head);
    const MlaInstance& instance = *find_mla_instance(DType::bf16, kDepth, kSplits, warps_per_head);
    memory.poison(1);
    simt::Launch launch;
    launch.kernel = "ragged";
    launch.grid = {kBatch, kPadded, 1};
    launch.block = {kMlaThreads, 1, 1};
    launch.dependent = true;
    launch.buffers = {{"lse_partial", memory.lse.as<void>(), memory.lse.bytes().size(), false},
                      {"o_partial", memory.o.as<void>(), memory.o.bytes().size(), false},
                      {"row_offsets", offsets.as<void>(), offsets.bytes().size(), false},
                      {"output", memory.output.as<void>(), memory.output.bytes().size(), true}};
    // The first row; a place past the end of its sequence; the last row.
    launch.only_blocks = std::vector<std::uint64_t>{0, kBatch, std::uint64_t{kBatch} * kPadded - 1};
    const auto fault = simt::run(launch, [&] { instance.thread_body(arguments); });
    ASSERT_FALSE(fault.has_value()) << fault->message;
    memory.expect_first_and_last_written(1);
  }
}

}  // namespace
}  // namespace lsecheck::sm100
