#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/device_probes.h"
#include "kernels/cuda/fa4_entry.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/cuda/launch_deadline.h"
#include "kernels/cuda/mha_entry.h"
#include "kernels/cuda/mla_entry.h"
#include "kernels/cuda/sfu_sweep.h"
#include "kernels/sm100/fa4_ws_combine_kernel.h"
#include "kernels/sm100/mha_splitk_reduce_kernel.h"
#include "kernels/sm100/mla_combine_kernel.h"
#include "kernels/sm100/test_combine.h"

// What only a GPU can show; skipped where there is none.
namespace lsecheck::cuda {
namespace {

using sm100::Draw;

class OnTheDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!availability().device) GTEST_SKIP() << availability().reason;
  }
  static Arch arch() { return availability().device->arch; }
  static ExecutionOptions on_device() {
    ExecutionOptions options;
    options.backend = Backend::cuda;
    return options;
  }
};

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Rows of any of the kernels. Every partition starts empty, over NaN bits where the kernel drops them.
struct Batch : sm100::RowBatch {
  const CombineKernel& kernel;
  std::vector<float> sink;  // [heads], or empty
  std::vector<float> mass;  // [P, rows_heads], or empty: of kernels that take masses

  Batch(const CombineKernel& of, const CombineShape& shape_of)
      : RowBatch(shape_of), kernel(of), mass(of.takes_masses() ? lse.size() : 0) {
    if (!kernel.drops_garbage()) std::ranges::fill(o, 0U);
  }
};

// Output bits. Shapes that no dispatch would choose are launched too.
std::vector<std::uint32_t> run(const Batch& batch, const KernelVariant& variant, const ExecutionOptions& options = {}) {
  const std::vector<std::byte> lse = bytes_of(batch.lse);
  const std::vector<std::byte> sink = bytes_of(batch.sink);
  const std::vector<std::byte> mass = bytes_of(batch.mass);
  const std::vector<std::byte> o = sm100::to_storage(batch.shape.partial, batch.o);
  const std::size_t columns = batch.kernel.output_columns(batch.shape);
  std::vector<std::byte> output(batch.rows_heads() * columns * size_of(batch.shape.out), std::byte{0xa5});
  const auto fault = batch.kernel.launch(batch.shape, variant, {lse, o, output, sink, mass}, options);
  EXPECT_FALSE(fault.has_value()) << fault->message;
  return sm100::from_storage(batch.shape.out, output);
}

// Most exponents close together, some at and past where weights are flushed; some values subnormal.
void draw_row(Batch& batch, std::size_t row, Draw& source) {
  for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
    const bool is_empty = source.below(5) == 0;
    if (is_empty && !batch.kernel.empty_by_mass()) continue;
    batch.lse_at(p, row) = source.below(8) == 0 ? source.single(-150, 6) : source.single(-6, 6);
    if (is_empty) continue;
    if (!batch.mass.empty()) batch.mass[p * batch.rows_heads() + row] = source.single(1, 300);
    for (std::uint32_t& bits : batch.o_at(p, row)) {
      const int exponent = source.below(16) == 0 ? -130 : 0;
      bits = round_to_nearest_even(batch.shape.partial, std::ldexp(source.uniform(-2, 2), exponent));
    }
  }
}

void draw(Batch& batch, Draw& source) {
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) draw_row(batch, row, source);
}

TEST_F(OnTheDevice, EveryEntryOfTheFa4TableGivesTheBitsOfTheExecutor) {
  Draw source(11);
  for (const sm100::Fa4Entry& entry : sm100::kFa4Entries) {
    const int p = entry.p_static > 0 ? entry.p_static : 37;
    Batch batch(sm100::fa4_combine_kernel(), {arch(), p, 3, 2, entry.ov_depth, entry.out, entry.partial});
    draw(batch, source);
    const KernelVariant variant{"this", entry.p_static};
    ASSERT_EQ(run(batch, variant, on_device()), run(batch, variant)) << template_id(entry);
  }
}

TEST_F(OnTheDevice, EveryFastFa4EntryGivesTheBitsOfTheExecutor) {
  Draw source(15);
  for (const sm100::Fa4FastEntry& entry : sm100::kFa4FastEntries) {
    for (const int p : {1, 2, 31, 37, 160}) {
      Batch batch(sm100::fa4_combine_kernel(), {arch(), p, 7, 3, entry.ov_depth, entry.out, entry.partial});
      draw(batch, source);
      const KernelVariant variant{.name = "this", .load_bytes = entry.load_bytes};
      ASSERT_EQ(run(batch, variant, on_device()), run(batch, variant)) << template_id(entry) << " " << p;
    }
  }
}

TEST_F(OnTheDevice, EveryEntryOfTheMhaTableGivesTheBitsOfTheExecutor) {
  Draw source(16);
  const CombineKernel& kernel = sm100::mha_splitk_reduce_kernel();
  for (const sm100::MhaEntry& entry : sm100::kMhaEntries) {
    for (const int p : {1, 9, 32}) {
      CombineShape shape{arch(), p, 5, 3, entry.ov_depth, entry.out, entry.partial};
      shape.exponent = entry.natural ? ExponentForm::natural : ExponentForm::log2;
      Batch batch(kernel, shape);
      draw(batch, source);
      const KernelVariant variant = kernel.variants(shape).front();
      ASSERT_EQ(run(batch, variant, on_device()), run(batch, variant)) << template_id(entry) << " " << p;
    }
  }
}

const CombineKernel& kernel_of(sm100::Fa4WsLevel level) {
  switch (level) {
    case sm100::Fa4WsLevel::intracta:
      return sm100::fa4_ws_intracta_combine_kernel();
    case sm100::Fa4WsLevel::level1:
      return sm100::fa4_ws_level1_combine_kernel();
    case sm100::Fa4WsLevel::level2:
      return sm100::fa4_ws_level2_reduce_scatter_write_kernel();
    case sm100::Fa4WsLevel::two_level:
      break;
  }
  return sm100::fa4_ws_two_level_combine_kernel();
}

// With and without the scale; a last tile that is not full.
TEST_F(OnTheDevice, EveryEntryOfTheLevelsGivesTheBitsOfTheExecutor) {
  Draw source(17);
  for (const sm100::Fa4WsEntry& entry : sm100::kFa4WsEntries) {
    const CombineKernel& kernel = kernel_of(entry.level);
    const KernelVariant variant{.name = "this", .m_pack = entry.m_pack};
    for (const ExponentForm form : kernel.exponent_forms()) {
      CombineShape shape{arch(), entry.num_partitions, 67, 1, entry.ov_depth, entry.out, DType::f32};
      shape.exponent = form;
      if (form == ExponentForm::scaled) shape.exponent_scale = 0.1275F;
      Batch batch(kernel, shape);
      draw(batch, source);
      ASSERT_EQ(run(batch, variant, on_device()), run(batch, variant)) << template_id(entry);
    }
  }
}

TEST_F(OnTheDevice, EveryEntryOfTheMlaTableGivesTheBitsOfTheExecutor) {
  Draw source(14);
  for (const sm100::MlaEntry& entry : sm100::kMlaEntries) {
    const CombineKernel& kernel = entry.warps_per_head == sm100::kSplitParallelInstance
                                      ? sm100::mla_combine_split_parallel_kernel()
                                      : sm100::mla_combine_kernel();
    for (const bool ragged : {false, true}) {
      Batch batch(kernel, {arch(), entry.num_splits, 4, 3, entry.head_dim, entry.type, entry.type});
      draw(batch, source);
      if (source.below(2) == 0) batch.sink = {source.single(-4, 4), sm100::kEmpty, source.single(-4, 4)};
      const KernelVariant variant{"this", entry.num_splits, entry.warps_per_head, ragged};
      ASSERT_EQ(run(batch, variant, on_device()), run(batch, variant))
          << template_id(entry) << (ragged ? " ragged" : " dense") << (batch.sink.empty() ? "" : " with a sink");
    }
  }
}

// As many row-heads as asked for, the first of `pattern` over and over.
Batch repeated(const Batch& pattern, std::uint32_t rows, std::uint32_t heads) {
  CombineShape shape = pattern.shape;
  shape.rows = rows;
  shape.heads = heads;
  Batch batch(pattern.kernel, shape);
  const std::size_t depth = batch.depth();
  for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
    for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
      const std::size_t to = p * batch.rows_heads() + row;
      const std::size_t from = p * pattern.rows_heads() + row % pattern.rows_heads();
      batch.lse[to] = pattern.lse[from];
      if (!batch.mass.empty()) batch.mass[to] = pattern.mass[from];
      std::copy_n(&pattern.o[from * depth], depth, &batch.o[to * depth]);
    }
  }
  return batch;
}

// Every row of a large grid, against the executor on the few rows that it repeats.
TEST_F(OnTheDevice, GridsOfEverySize) {
  constexpr std::uint32_t kPeriod = 61;
  const auto shape = [](int num_partitions, int depth, DType out, DType partial) {
    return CombineShape{arch(), num_partitions, kPeriod, 1, depth, out, partial};
  };
  constexpr DType kBf16 = DType::bf16, kF32 = DType::f32;
  const std::pair<const CombineKernel&, CombineShape> patterns[] = {
      {sm100::fa4_combine_kernel(), shape(2, 64, kBf16, kBf16)},
      {sm100::mla_combine_kernel(), shape(2, 256, kBf16, kBf16)},
      {sm100::mla_combine_split_parallel_kernel(), shape(2, 256, kBf16, kBf16)},
      {sm100::mha_splitk_reduce_kernel(), shape(2, 32, kBf16, kBf16)},
      {sm100::fa4_ws_intracta_combine_kernel(), shape(4, 64, kBf16, kF32)},
      {sm100::fa4_ws_level1_combine_kernel(), shape(2, 64, kF32, kF32)},
      {sm100::fa4_ws_level2_reduce_scatter_write_kernel(), shape(1, 64, kBf16, kF32)},
      {sm100::fa4_ws_level2_reduce_scatter_write_kernel(), shape(2, 64, kBf16, kF32)},
      {sm100::fa4_ws_two_level_combine_kernel(), shape(4, 64, kBf16, kF32)}};
  const std::pair<std::uint32_t, std::uint32_t> grids[] = {{1, 1},     {65535, 1},  {1, 65535},
                                                           {65536, 1}, {200000, 1}, {4, 50000}};
  for (const auto& [kernel, of] : patterns) {
    Draw source(12);
    Batch pattern(kernel, of);
    draw(pattern, source);
    for (const auto& [rows, heads] : grids) {
      // The one kernel that has its rows on an axis of the grid where 65535 is the most.
      if (&kernel == &sm100::mha_splitk_reduce_kernel() && rows > 65535) continue;
      const Batch batch = repeated(pattern, rows, heads);
      const std::vector<KernelVariant> variants = kernel.variants(batch.shape);
      ASSERT_FALSE(variants.empty()) << kernel.name();
      for (const KernelVariant& variant : variants) {
        const std::vector<std::uint32_t> expected = run(pattern, variant);
        const std::vector<std::uint32_t> got = run(batch, variant, on_device());
        for (std::size_t i = 0; i < got.size(); i += expected.size()) {
          const std::size_t count = std::min(expected.size(), got.size() - i);
          ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count),
                                 got.begin() + static_cast<std::ptrdiff_t>(i)))
              << kernel.name() << " " << variant.name << ", " << rows << " x " << heads << ", row-heads from "
              << i / kernel.output_columns(of);
        }
      }
    }
  }
}

TEST_F(OnTheDevice, IndicesBeyond2To31And2To32) {
  struct Large {
    const CombineKernel* kernel;
    std::uint32_t rows, heads;
    int depth;
  };
  // 16 partitions and a little more than 2^32 elements; the counts of row-heads are multiples of nothing.
  for (const Large& large :
       {Large{&sm100::fa4_combine_kernel(), (1U << 20) + 3, 1, 256}, Large{&sm100::mla_combine_kernel(), 74901, 7, 512},
        Large{&sm100::mla_combine_split_parallel_kernel(), 74901, 7, 512}}) {
    const CombineShape shape{arch(), 16, large.rows, large.heads, large.depth, DType::bf16, DType::bf16};
    const std::uint64_t count = shape.rows_heads();
    const std::vector<std::uint64_t> row_heads{0, 1, count / 2 - 1, count / 2, count - 2, count - 1};
    Batch sample(*large.kernel,
                 {arch(), 16, static_cast<std::uint32_t>(row_heads.size()), 1, large.depth, DType::bf16, DType::bf16});
    for (std::size_t i = 0; i < row_heads.size(); ++i) {
      for (std::size_t p = 0; p < 16; ++p) {
        const std::uint64_t index = p * count + row_heads[i];
        sample.lse_at(p, i) = probes::pattern_lse(index);
        for (std::size_t d = 0; d < sample.depth(); ++d) {
          sample.o_at(p, i)[d] = probes::pattern_bf16(index * sample.depth() + d);
        }
      }
    }
    for (const KernelVariant& variant : large.kernel->variants(shape)) {
      if (variant.ragged) continue;  // the pattern is laid out densely
      const auto got = probes::combine_pattern(large.kernel->name(), shape, variant, row_heads);
      const std::vector<std::uint32_t> expected = run(sample, variant);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()))
          << large.kernel->name() << " " << variant.name;
    }
  }
}

// Both halves are needed: the combine has the producer's values, and it would not have had them without its wait.
TEST_F(OnTheDevice, TheCombineWaitsForALateProducer) {
  struct Consumer {
    const CombineKernel* kernel;
    int num_partitions, depth;
    KernelVariant variant;
  };
  const Consumer consumers[] = {
      {&sm100::fa4_combine_kernel(), 16, 128, {"rung", 16}},
      {&sm100::mla_combine_kernel(), 37, 512, {"wph4", 37, 4}},
      {&sm100::mla_combine_split_parallel_kernel(), 37, 512, {"dense", 37, sm100::kSplitParallelInstance}}};
  Draw source(13);
  for (const Consumer& consumer : consumers) {
    SCOPED_TRACE(consumer.kernel->name());
    Batch batch(*consumer.kernel, {arch(), consumer.num_partitions, 20, 2, consumer.depth, DType::bf16, DType::bf16});
    draw(batch, source);
    const std::vector<std::byte> lse = bytes_of(batch.lse);
    const std::vector<std::byte> o = sm100::to_storage(DType::bf16, batch.o);
    std::vector<std::byte> output(batch.rows_heads() * batch.depth() * 2);
    const auto got =
        probes::run_behind_late_producer(consumer.kernel->name(), batch.shape, consumer.variant, {lse, o, output});
    const std::vector<std::uint32_t> fresh = run(batch, consumer.variant);
    Batch stale = batch;
    std::ranges::fill(stale.lse, std::bit_cast<float>(probes::kStaleWord));
    std::ranges::fill(stale.o, probes::kStaleWord & 0xffffU);
    const std::vector<std::uint32_t> of_stale = run(stale, consumer.variant);
    ASSERT_NE(of_stale, fresh);
    EXPECT_EQ(sm100::from_storage(DType::bf16, got.output), fresh);
    EXPECT_EQ(sm100::from_storage(DType::bf16, got.output_without_wait), of_stale)
        << "without its wait the combine did not run before the producer's stores: the test shows nothing";
  }
}

TEST_F(OnTheDevice, AKernelThatHangsIsADeviceErrorAfterTheTimeLimit) {
  set_launch_time_limit(std::chrono::milliseconds(300));
  const auto start = std::chrono::steady_clock::now();
  try {
    probes::run_hung_kernel();
    ADD_FAILURE() << "the kernel that hangs has ended";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.kind(), DeviceError::Kind::timeout);
    EXPECT_EQ(std::string(error.what()), "hang<> has not ended after 0.3 s on the device");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << "the watchdog did not end the wait";
  set_launch_time_limit(kDefaultLaunchTimeLimit);
  // The kernel was let go: the device works again.
  Batch batch(sm100::fa4_combine_kernel(), {arch(), 2, 1, 1, 64, DType::bf16, DType::bf16});
  batch.fill(0, 0, 1, 2);
  EXPECT_EQ(run(batch, {"runtime", 0}, on_device()), run(batch, {"runtime", 0}));
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
      launch("fa4_splitk_combine", {arch(), 160, 1U << 22, 1, 512, DType::bf16, DType::bf16}, {"runtime", 0},
             {small, small, output});
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
