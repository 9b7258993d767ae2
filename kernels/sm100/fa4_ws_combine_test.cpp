#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/sm100/fa4_ws_instances.h"
#include "kernels/sm100/fa4_ws_levels.cuh"
#include "kernels/sm100/test_fa4_ws.h"

// What the in-CTA levels compute: every instantiation against the plain loops, cases by hand, and the checks of the
// executor that keep them honest.
namespace lsecheck::sm100 {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

CombineShape shape_of(Fa4WsLevel level, int partitions, std::uint32_t rows, int ov_depth = 64, DType out = DType::f32,
                      ExponentForm form = ExponentForm::scaled, float scale = 0.127517432F) {
  CombineShape shape{Arch::sm_100a, partitions, rows, 1, ov_depth, out, DType::f32, form, scale};
  if (form == ExponentForm::log2) shape.exponent_scale = 1;
  EXPECT_EQ(fa4_ws_kernel(level).refuse(shape), std::nullopt);
  return shape;
}

std::vector<std::uint32_t> launched(Fa4WsLevel level, const Fa4WsBatch& batch, const KernelVariant& variant,
                                    const ExecutionOptions& options = {}) {
  std::vector<std::uint32_t> bits;
  const auto fault = launch_fa4_ws(fa4_ws_kernel(level), batch, variant, options, bits);
  EXPECT_FALSE(fault.has_value()) << fault->message;
  return bits;
}

KernelVariant variant_of(const Fa4WsInstance& instance, const CombineShape& shape) {
  for (const KernelVariant& variant : fa4_ws_kernel(instance.level).variants(shape)) {
    if (variant.m_pack == instance.m_pack) return variant;
  }
  ADD_FAILURE() << "no variant with m_pack " << instance.m_pack;
  return {};
}

TEST(Fa4WsCombine, EqualsThePlainLoopsInEveryInstantiation) {
  Draw draw(20);
  std::uint64_t turn = 0;
  for (const Fa4WsInstance& instance : fa4_ws_instances()) {
    for (const ExponentForm form : {ExponentForm::scaled, ExponentForm::log2}) {
      const auto rows = static_cast<std::uint32_t>(instance.rows + 1 + turn % 7);  // the last tile is not full
      const float scale = std::array{0.127517432F, 1.0F, 3e-5F}[turn % 3];
      CombineShape shape =
          shape_of(instance.level, instance.num_partitions, rows, instance.ov_depth, instance.out, form, scale);
      shape.arch = kAllArchs[turn % 3];
      Fa4WsBatch batch(shape);
      for (std::size_t row = 0; row < rows; ++row) draw_row(batch, row, draw, turn % 2 == 0);
      ExecutionOptions options;
      options.unit = turn % 3 == 0 ? sfu::Unit{} : sfu::Unit{sfu::UnitKind::spec, turn};
      options.schedule = turn % 2 == 0 ? Schedule::random : Schedule::lockstep;
      options.schedule_seed = ++turn;
      std::vector<std::uint32_t> due;
      for (std::size_t row = 0; row < rows; ++row) {
        const auto bits = plain_row_bits(instance.level, batch, row, options.unit);
        due.insert(due.end(), bits.begin(), bits.end());
      }
      ASSERT_EQ(launched(instance.level, batch, variant_of(instance, shape), options), due)
          << fa4_ws_kernel(instance.level).name() << " " << name_of(instance.out) << " D " << instance.ov_depth
          << " m_pack " << instance.m_pack << " P " << instance.num_partitions;
    }
  }
}

// (2 m_packs x 2 depths) x 3 types at one level and at two, x 1 type at level 1, and at level 2 with two depths more
// for m_pack 4, with a peer and without.
TEST(Fa4WsInstances, EveryTableEntryIsCompiledAndNothingElse) {
  std::size_t in_table = 0;
  for (const Fa4WsLevel level : {Fa4WsLevel::intracta, Fa4WsLevel::level1, Fa4WsLevel::level2, Fa4WsLevel::two_level}) {
    for (const DType out : {DType::bf16, DType::f16, DType::f32}) {
      for (const int depth : kFa4WsDepths) {
        for (const int m_pack : kFa4WsMPacks) {
          for (const int partitions : kFa4WsPartitions) {
            const bool entry = fa4_ws_in_table(level, out, depth, m_pack, partitions);
            EXPECT_EQ(find_fa4_ws_instance(level, out, depth, m_pack, partitions) != nullptr, entry);
            in_table += entry;
          }
        }
      }
    }
  }
  EXPECT_EQ(in_table, 4U * 3 + 4U + 6U * 3 * 2 + 4U * 3);
  EXPECT_EQ(fa4_ws_instances().size(), in_table);
}

TEST(Fa4WsCombine, AnyScheduleGivesTheSameBits) {
  for (const Fa4WsLevel level : {Fa4WsLevel::intracta, Fa4WsLevel::level1, Fa4WsLevel::level2, Fa4WsLevel::two_level}) {
    const CombineShape shape = shape_of(level, level == Fa4WsLevel::two_level ? 4 : 2, 70);
    Fa4WsBatch batch(shape);
    Draw draw(3);
    for (std::size_t row = 0; row < 70; ++row) draw_row(batch, row, draw, false);
    const KernelVariant variant = fa4_ws_kernel(level).variants(shape).front();
    const auto due = launched(level, batch, variant);
    ExecutionOptions options;
    options.schedule = Schedule::random;
    options.jobs = 2;
    for (options.schedule_seed = 0; options.schedule_seed < 8; ++options.schedule_seed) {
      ASSERT_EQ(launched(level, batch, variant, options), due);
    }
  }
}

TEST(Fa4WsLevel2, ThePackingOfTheWarpgroupDoesNotMatter) {
  for (const int partitions : {1, 2}) {
    for (const int depth : {64, 128}) {
      const CombineShape shape = shape_of(Fa4WsLevel::level2, partitions, 65, depth, DType::bf16);
      Fa4WsBatch batch(shape);
      Draw draw(9);
      for (std::size_t row = 0; row < 65; ++row) draw_row(batch, row, draw, true);
      const auto variants = fa4_ws_kernel(Fa4WsLevel::level2).variants(shape);
      ASSERT_EQ(variants.size(), 2U);
      EXPECT_EQ(variants[0].name, "mpack4");
      EXPECT_EQ(launched(Fa4WsLevel::level2, batch, variants[0]), launched(Fa4WsLevel::level2, batch, variants[1]));
    }
  }
}

TEST(Fa4WsCombine, ByHand) {
  // Weights 1 and 2^-2: l = 2 + 8 / 4, acc = 6 + 8 / 4.
  Fa4WsBatch batch(shape_of(Fa4WsLevel::intracta, 2, 1, 64, DType::bf16, ExponentForm::scaled, 0.5F));
  batch.fill(0, 0, 10.0F, 6.0);
  batch.fill(1, 0, 6.0F, 8.0);
  batch.mass = {2.0F, 8.0F};
  const auto& intracta = fa4_ws_kernel(Fa4WsLevel::intracta);
  EXPECT_THAT(launched(Fa4WsLevel::intracta, batch, intracta.variants(batch.shape).front()),
              Each(round_to_nearest_even(DType::bf16, 2.0)));

  Fa4WsBatch raw(shape_of(Fa4WsLevel::level1, 2, 1, 64, DType::f32, ExponentForm::scaled, 0.5F));
  raw.lse = batch.lse;
  raw.o = batch.o;
  raw.mass = batch.mass;
  const auto bits = launched(Fa4WsLevel::level1, raw, fa4_ws_kernel(Fa4WsLevel::level1).variants(raw.shape).front());
  ASSERT_EQ(bits.size(), 66U);
  EXPECT_EQ(decode(DType::f32, bits[0]), 8.0);
  EXPECT_EQ(decode(DType::f32, bits[63]), 8.0);
  EXPECT_EQ(decode(DType::f32, bits[64]), 4.0) << "l";
  EXPECT_EQ(decode(DType::f32, bits[65]), 10.0) << "m";
}

// --- checks that the executor makes of these kernels, each with the mistake planted ---

using Tile = Fa4WsTile<4, 64>;

template <class Body>
std::optional<simt::Fault> run_block(unsigned threads, const Body& body, std::uint64_t seed = 0) {
  simt::Launch launch;
  launch.kernel = "planted";
  launch.block = {threads, 1, 1};
  launch.schedule = seed == 0 ? Schedule::lockstep : Schedule::random;
  launch.schedule_seed = seed;
  return simt::run(launch, body);
}

void fill_lane(TensorMemory<Tile::kDepth>& memory, float value) {
  float columns[16];
  std::fill(std::begin(columns), std::end(columns), value);
  for (unsigned column = 0; column < Tile::kDepth; column += 16) {
    memory.store(threadIdx.x / 32 * 32, column, columns);
  }
  memory.wait_stores();
}

TEST(Fa4WsExecutor, LanesOfAnotherWarpAreOutOfReach) {
  for (const unsigned shift : {0U, 32U}) {
    const auto fault = run_block(128, [&] {
      TensorMemory<Tile::kDepth> memory(128);
      fill_lane(memory, 1.0F);
      float columns[16];
      memory.load((threadIdx.x / 32 * 32 + shift) % 128, 0, columns);
      memory.release(128);
    });
    if (shift == 0) {
      EXPECT_FALSE(fault.has_value()) << fault->message;
      continue;
    }
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->kind, simt::FaultKind::tensor_memory);
    EXPECT_THAT(fault->message,
                HasSubstr("uses tensor memory lanes 0 to 31: warp 3 of its warpgroup reaches 96 to 127 only"));
  }
}

TEST(Fa4WsExecutor, TensorMemoryIsCheckedLikeOtherMemory) {
  const auto fault_of = [](const auto& body) {
    const auto fault = run_block(128, body);
    EXPECT_TRUE(fault.has_value() && fault->kind == simt::FaultKind::tensor_memory);
    return fault ? fault->message : std::string();
  };
  EXPECT_THAT(fault_of([] { TensorMemory<64> memory(128); }), HasSubstr("without releasing 64 columns"));
  EXPECT_THAT(fault_of([] { TensorMemory<48> memory(128); }), HasSubstr("a power of two from 32 to 512"));
  EXPECT_THAT(fault_of([] {
                TensorMemory<64> memory(128);
                float columns[16];
                memory.load(threadIdx.x / 32 * 32, 16, columns);
              }),
              HasSubstr("columns 16 to 31, not all of which were written"));
  EXPECT_THAT(fault_of([] {
                TensorMemory<64> memory(128);
                const float columns[16] = {};
                memory.store(threadIdx.x / 32 * 32, 56, columns);
              }),
              HasSubstr("columns 56 to 71, but 64 are allocated"));
  EXPECT_THAT(fault_of([] {
                TensorMemory<64> memory(128);
                const float columns[16] = {};
                memory.store(threadIdx.x / 32 * 32, threadIdx.x % 2 * 16, columns);
              }),
              HasSubstr("an address that differs between lanes"));
  EXPECT_THAT(fault_of([] {
                TensorMemory<64> memory(128);
                TensorMemory<32> again(128);
              }),
              HasSubstr("while 64 are allocated"));
}

// Staging as level 1 does, then reading what the other warps staged.
TEST(Fa4WsExecutor, AMissingBarrierBehindTheStagingShows) {
  unsigned shown = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    for (const bool with_barrier : {true, false}) {
      const auto fault = run_block(
          128,
          [&] {
            using Carve = Fa4WsCarve<Tile, float, 1, false>;
            LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
            TensorMemory<Tile::kDepth> o_tmem(128);
            fill_lane(o_tmem, 1.0F);
            fa4_ws_stage<Tile>(o_tmem, 0, {0.0F, 1.0F}, Carve::stage(memory, 0), Carve::max_sum(memory, 0));
            if (with_barrier) block_barrier(0, 128);
            for (unsigned p = 0; p < Tile::kMPack; ++p) {
              Carve::max_sum(memory, 0).load(Tile::max_sum_slot(p, threadIdx.x % Tile::kRows));
            }
            o_tmem.release(128);
          },
          seed);
      if (with_barrier) {
        ASSERT_FALSE(fault.has_value()) << fault->message;
      } else {
        shown += fault.has_value() && fault->kind == simt::FaultKind::unwritten_shared_read;
      }
    }
  }
  EXPECT_GE(shown, 15U);
}

// The peer's windows are poisoned or were never written: alone, warpgroup 0 does not look.
TEST(Fa4WsLevel2, ASingleWarpgroupReadsNoPeer) {
  using Carve = Fa4WsCarve<Tile, float, 0, true>;
  for (const bool poisoned : {false, true}) {
    std::vector<float> results(128);
    const auto fault = run_block(256, [&] {
      LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
      const unsigned thread = threadIdx.x % 128;
      if (poisoned && threadIdx.x >= 128) {
        for (std::size_t i = thread; i < Tile::kBandBlocks; i += 128) {
          Carve::level2_stage(memory, 0).store(i, StageBlock{{NAN, NAN, NAN, NAN}});
        }
        if (thread < Tile::kRows) Carve::level2_max_sum(memory).store(thread, {NAN, NAN});
      }
      block_barrier(4, 256);
      if (threadIdx.x >= 128) return;
      float band[Tile::kBandCols];
      std::fill(std::begin(band), std::end(band), 6.0F);
      const MaxSum all = fa4_ws_level2_reduce_scatter_write<Tile, float, true>(
          band, {kEmpty, 4.0F}, {false, 1.0F}, 0, Carve::level2_stage(memory, 0), Carve::level2_max_sum(memory),
          Carve::output(memory));
      results[thread] = all.l == 4.0F ? band[0] : NAN;
    });
    ASSERT_FALSE(fault.has_value()) << fault->message;
    EXPECT_THAT(results, Each(1.5F));
  }
}

TEST(Fa4WsCombine, RefusesByName) {
  const auto refusal = [](Fa4WsLevel level, CombineShape shape) {
    return fa4_ws_kernel(level).refuse(shape).value_or("accepted");
  };
  const CombineShape good = shape_of(Fa4WsLevel::intracta, 4, 1, 64, DType::bf16);
  const auto with = [&](auto change) {
    CombineShape shape = good;
    change(shape);
    return refusal(Fa4WsLevel::intracta, shape);
  };
  EXPECT_THAT(with([](CombineShape& s) { s.num_partitions = 3; }), HasSubstr("num_partitions = 3"));
  EXPECT_THAT(with([](CombineShape& s) { s.ov_depth = 256; }), HasSubstr("ov_depth = 256"));
  EXPECT_THAT(with([](CombineShape& s) { s.partial = DType::bf16; }), HasSubstr("takes partials f32"));
  EXPECT_THAT(with([](CombineShape& s) { s.exponent = ExponentForm::natural; }), HasSubstr("natural exponents"));
  EXPECT_THAT(with([](CombineShape& s) { s.rows = 0; }), HasSubstr("rows * heads = 0"));
  for (const float scale : {0.0F, -1.0F, 0x1p-127F, INFINITY, NAN}) {
    EXPECT_THAT(with([&](CombineShape& s) { s.exponent_scale = scale; }), HasSubstr("exponent scale = ")) << scale;
  }
  EXPECT_THAT(refusal(Fa4WsLevel::level1, good), HasSubstr("returns f32"));
  EXPECT_EQ(fa4_ws_kernel(Fa4WsLevel::two_level).launchable_partitions(good), 4);
  EXPECT_EQ(fa4_ws_kernel(Fa4WsLevel::level2).launchable_partitions(good), std::nullopt);
}

}  // namespace
}  // namespace lsecheck::sm100
