#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device_probes.h"
#include "kernels/cuda/sfu_sweep.h"
#include "kernels/sm100/test_combine.h"

// What only a GPU can show; skipped where there is none.
namespace lsecheck::cuda {
namespace {

using sm100::Draw;
using sm100::RowBatch;

class OnTheDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!availability().device) GTEST_SKIP() << availability().reason;
  }
  static Arch arch() { return availability().device->arch; }
};

void draw(RowBatch& batch, Draw& source) {
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      if (source.below(5) == 0) continue;
      batch.lse_at(p, row) = source.single(-6, 6);
      for (std::uint32_t& bits : batch.o_at(p, row))
        bits = round_to_nearest_even(batch.shape.partial, source.uniform(-2, 2));
    }
  }
}

void expect_twins(const RowBatch& batch) {
  ExecutionOptions on_device;
  on_device.backend = Backend::cuda;
  for (const KernelVariant& variant : sm100::fa4_combine_kernel().variants(batch.shape)) {
    ASSERT_EQ(sm100::launch(batch, variant, on_device), sm100::launch(batch, variant))
        << variant.name << ", P " << batch.shape.num_partitions << ", depth " << batch.shape.ov_depth << ", "
        << name_of(batch.shape.out) << " <- " << name_of(batch.shape.partial);
  }
}

TEST_F(OnTheDevice, EveryEntryOfTheTableGivesTheBitsOfTheExecutor) {
  Draw source(11);
  for (const sm100::Fa4Entry& entry : sm100::kFa4Entries) {
    const int p = entry.p_static > 0 ? entry.p_static : 37;
    RowBatch batch({arch(), p, 3, 2, entry.ov_depth, entry.out, entry.partial});
    draw(batch, source);
    ExecutionOptions on_device;
    on_device.backend = Backend::cuda;
    const KernelVariant variant{"this", entry.p_static};
    ASSERT_EQ(sm100::launch(batch, variant, on_device), sm100::launch(batch, variant))
        << "P_STATIC " << entry.p_static << ", depth " << entry.ov_depth << ", " << name_of(entry.out) << " <- "
        << name_of(entry.partial);
  }
}

TEST_F(OnTheDevice, GridsOfEverySize) {
  Draw source(12);
  for (const std::uint32_t rows_heads : {1U, 2U, 65535U, 65536U, 200000U}) {
    RowBatch batch({arch(), 2, rows_heads, 1, 64, DType::bf16, DType::bf16});
    draw(batch, source);
    expect_twins(batch);
  }
}

TEST_F(OnTheDevice, IndicesBeyond2To31And2To32) {
  // 16 partitions of 2^20 row-heads of depth 256 are 2^32 elements; three rows more make nothing a power of two.
  const CombineShape shape{arch(), 16, (1U << 20) + 3, 1, 256, DType::bf16, DType::bf16};
  const std::vector<std::uint64_t> rows{0, 1, 524287, 524288, (1U << 20) - 1, (1U << 20) + 2};
  RowBatch sample({arch(), 16, static_cast<std::uint32_t>(rows.size()), 1, 256, DType::bf16, DType::bf16});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t p = 0; p < 16; ++p) {
      const std::uint64_t index = p * shape.rows_heads() + rows[i];
      sample.lse_at(p, i) = probes::pattern_lse(index);
      for (std::size_t d = 0; d < 256; ++d) sample.o_at(p, i)[d] = probes::pattern_bf16(index * 256 + d);
    }
  }
  for (const KernelVariant& variant : sm100::fa4_combine_kernel().variants(shape)) {
    const std::vector<std::uint16_t> got = probes::combine_pattern(shape, variant, rows);
    const std::vector<std::uint32_t> expected = sm100::launch(sample, variant);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end())) << variant.name;
  }
}

TEST_F(OnTheDevice, TheCombineWaitsForALateProducer) {
  Draw source(13);
  RowBatch batch({arch(), 16, 40, 1, 128, DType::bf16, DType::bf16});
  draw(batch, source);
  const std::vector<std::byte> lse(reinterpret_cast<const std::byte*>(batch.lse.data()),
                                   reinterpret_cast<const std::byte*>(batch.lse.data() + batch.lse.size()));
  const std::vector<std::byte> o = sm100::to_storage(DType::bf16, batch.o);
  std::vector<std::byte> output(batch.rows_heads() * batch.depth() * 2);
  for (const KernelVariant& variant : sm100::fa4_combine_kernel().variants(batch.shape)) {
    const auto run = probes::run_behind_late_producer(batch.shape, variant, {lse, o, output});
    EXPECT_EQ(sm100::from_storage(DType::bf16, run.output), sm100::launch(batch, variant)) << variant.name;
    EXPECT_TRUE(run.reader_saw_stale_memory) << "the producer's stores were not late: the test shows nothing";
  }
}

TEST_F(OnTheDevice, ABlockOfTheSweepEqualsItsOutputs) {
  const std::vector<std::uint32_t> outputs = measure_block(sfu::Instruction::ex2_approx_ftz, 126);
  std::uint64_t digest = 0;
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    digest += sfu::splitmix64((std::uint64_t{(126U << 23) + i} << 32) | outputs[i]);
  }
  EXPECT_EQ(digest, measure_digests(sfu::Instruction::ex2_approx_ftz)[126]);
}

// In a process of its own: the device is lost to whoever reads outside its memory.
TEST_F(OnTheDevice, AnIllegalAccessIsADeviceError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read_far_outside = [] {
    const std::vector<std::byte> small(4096);
    std::vector<std::byte> output(4096);
    try {
      launch_fa4({arch(), 160, 1U << 22, 1, 512, DType::bf16, DType::bf16}, {"runtime", 0}, {small, small, output});
    } catch (const DeviceError& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(error.kind() == DeviceError::Kind::illegal_access ? 4 : 5);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(read_far_outside(), ::testing::ExitedWithCode(4),
              "CUDA error in fa4_splitk_combine.*(illegal memory access|global/shared address space)");
}

}  // namespace
}  // namespace lsecheck::cuda
