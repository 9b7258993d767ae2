#pragma once

#include "kernels/sm100/fa4_ws_levels.cuh"

// Each level of the in-CTA combine as a kernel on partials in global memory: one block per tile of kRows rows.
//
// Shapes: max_partial (m) and mass_partial (l) [P, rows_heads] f32; o_partial [P, rows_heads, D] f32; output
// [rows_heads, D], of fa4_ws_level1_combine [rows_heads, D + 2] f32: D unnormalised sums, then l, then m. Rows past the
// end in the last tile are combined as m = 0, l = 1, O = 0 and not stored. Dynamic shared memory: the carve's kBytes.
namespace lsecheck::sm100 {

struct Fa4WsInputs {
  const float* max_partial;
  const float* mass_partial;
  const float* o_partial;
  unsigned rows_heads;
  Fa4WsExponent exponent;
};

// This thread's row of the tile in global memory.
template <class Tile>
LSECHECK_DEVICE std::size_t fa4_ws_row() {
  return std::size_t{blockIdx.x} * Tile::kRows + threadIdx.x % kWarpgroupThreads % Tile::kRows;
}

LSECHECK_DEVICE MaxSum fa4_ws_load_max_sum(const Fa4WsInputs& inputs, std::size_t row, unsigned p) {
  if (row >= inputs.rows_heads) return {0.0F, 1.0F};
  const std::size_t place = std::size_t{p} * inputs.rows_heads + row;
  return {load_global(inputs.max_partial + place), load_global(inputs.mass_partial + place)};
}

// kCount columns of partition p from `column` on.
template <class Tile, unsigned kCount>
LSECHECK_DEVICE void fa4_ws_load_columns(const Fa4WsInputs& inputs, std::size_t row, unsigned p, unsigned column,
                                         float (&values)[kCount]) {
  const float* const from = inputs.o_partial + (std::size_t{p} * inputs.rows_heads + row) * Tile::kDepth + column;
  LSECHECK_UNROLL
  for (unsigned i = 0; i < kCount; i += 4) {
    StageBlock block = {};
    if (row < inputs.rows_heads) block = load_global(reinterpret_cast<const StageBlock*>(from + i));
    LSECHECK_UNROLL
    for (unsigned k = 0; k < 4; ++k) values[i + k] = block.element[k];
  }
}

// The accumulators of partition p to tensor memory, where the attention would have left them.
template <class Tile, unsigned kColumns>
LSECHECK_DEVICE void fa4_ws_fill_tensor_memory(const Fa4WsInputs& inputs, unsigned p, TensorMemory<kColumns>& o_tmem,
                                               unsigned first_column) {
  const std::size_t row = fa4_ws_row<Tile>();
  LSECHECK_UNROLL
  for (unsigned column = 0; column < Tile::kDepth; column += 16) {
    float values[16];
    fa4_ws_load_columns<Tile>(inputs, row, p, column, values);
    o_tmem.store(threadIdx.x % kWarpgroupThreads / 32 * 32, first_column + column, values);
  }
  o_tmem.wait_stores();
}

// The packed tile to global memory, by warpgroup 0.
template <class Tile, class Out>
LSECHECK_DEVICE void fa4_ws_store_output(const SharedWindow<OutputBlock<Out>>& o, Out* output, unsigned rows_heads) {
  constexpr unsigned kWidth = 16 / sizeof(Out);
  constexpr unsigned kBlocksPerRow = Tile::kDepth / kWidth;
  block_barrier(0, kWarpgroupThreads);
  for (unsigned i = threadIdx.x; i < Tile::kRows * kBlocksPerRow; i += kWarpgroupThreads) {
    const unsigned r = i / kBlocksPerRow;
    const unsigned block = i % kBlocksPerRow;
    const std::size_t row = std::size_t{blockIdx.x} * Tile::kRows + r;
    if (row >= rows_heads) continue;
    store_global(reinterpret_cast<OutputBlock<Out>*>(output + row * Tile::kDepth + block * kWidth),
                 o.load(Tile::output_block(r, block)));
  }
}

// P = kMPack, one warpgroup.
template <class Tile, class Out>
LSECHECK_KERNEL void fa4_ws_intracta_kernel(Fa4WsInputs inputs, Out* output) {
  using Carve = Fa4WsCarve<Tile, Out, 1, false>;
  LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
  TensorMemory<Tile::kDepth> o_tmem(kWarpgroupThreads);
  const unsigned g = threadIdx.x / Tile::kRows;
  fa4_ws_fill_tensor_memory<Tile>(inputs, g, o_tmem, 0);
  const MaxSum own = fa4_ws_load_max_sum(inputs, fa4_ws_row<Tile>(), g);
  const auto o = Carve::output(memory);
  fa4_ws_intracta_combine<Tile, Out>(o_tmem, own, inputs.exponent, Carve::stage(memory, 0), Carve::max_sum(memory, 0),
                                     o);
  o_tmem.release(kWarpgroupThreads);
  fa4_ws_store_output<Tile, Out>(o, output, inputs.rows_heads);
}

// P = kMPack, one warpgroup.
template <class Tile>
LSECHECK_KERNEL void fa4_ws_level1_kernel(Fa4WsInputs inputs, float* output) {
  using Carve = Fa4WsCarve<Tile, float, 1, false>;
  LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
  TensorMemory<Tile::kDepth> o_tmem(kWarpgroupThreads);
  const unsigned g = threadIdx.x / Tile::kRows;
  const std::size_t row = fa4_ws_row<Tile>();
  fa4_ws_fill_tensor_memory<Tile>(inputs, g, o_tmem, 0);
  float band[Tile::kOwnCols];
  const MaxSum all = fa4_ws_level1_combine<Tile>(o_tmem, 0, fa4_ws_load_max_sum(inputs, row, g), inputs.exponent, 0,
                                                 Carve::stage(memory, 0), Carve::max_sum(memory, 0), band);
  o_tmem.release(kWarpgroupThreads);
  if (row >= inputs.rows_heads) return;
  float* const out = output + row * (Tile::kDepth + 2);
  LSECHECK_UNROLL
  for (unsigned c = 0; c < Tile::kOwnCols; ++c) {
    store_global(out + g * Tile::kOwnCols + c, round_from_f32<float>(band[c]));
  }
  if (g == 0) {
    store_global(out + Tile::kDepth, round_from_f32<float>(all.l));
    store_global(out + Tile::kDepth + 1, round_from_f32<float>(all.m));
  }
}

// P = 2: partition w is what warpgroup w brings, its band and (m, l). P = 1 (kSingleWarpgroup): one warpgroup.
template <class Tile, class Out, bool kSingleWarpgroup>
LSECHECK_KERNEL void fa4_ws_level2_kernel(Fa4WsInputs inputs, Out* output) {
  using Carve = Fa4WsCarve<Tile, Out, 0, !kSingleWarpgroup>;
  LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
  const unsigned warpgroup = threadIdx.x / kWarpgroupThreads;
  const unsigned g = threadIdx.x % kWarpgroupThreads / Tile::kRows;
  const std::size_t row = fa4_ws_row<Tile>();
  const MaxSum own = fa4_ws_load_max_sum(inputs, row, warpgroup);
  const auto o = Carve::output(memory);
  for (unsigned tile = 0; tile < Tile::kDepthTiles; ++tile) {
    const unsigned depth_base = tile * Tile::kTileCols;
    float band[Tile::kBandCols];
    fa4_ws_load_columns<Tile>(inputs, row, warpgroup, depth_base + g * Tile::kBandCols, band);
    fa4_ws_level2_reduce_scatter_write<Tile, Out, kSingleWarpgroup>(
        band, own, inputs.exponent, depth_base, Carve::level2_stage(memory, tile), Carve::level2_max_sum(memory), o);
  }
  if (warpgroup == 0) fa4_ws_store_output<Tile, Out>(o, output, inputs.rows_heads);
}

// Level 1 of one of two warpgroups, on its own columns of tensor memory. kWarpgroup is static so that the columns are:
// where threads keep them in registers, a place that is not known would move them to local memory.
template <class Tile, class Carve, unsigned kWarpgroup>
LSECHECK_DEVICE MaxSum fa4_ws_level1_of_two(const Fa4WsInputs& inputs, const DynamicShared& memory,
                                            TensorMemory<2 * Tile::kDepth>& o_tmem, float (&band)[Tile::kOwnCols]) {
  constexpr unsigned kFirstColumn = kWarpgroup * Tile::kDepth;
  const unsigned p = threadIdx.x / Tile::kRows;  // kMPack of them to a warpgroup
  fa4_ws_fill_tensor_memory<Tile>(inputs, p, o_tmem, kFirstColumn);
  return fa4_ws_level1_combine<Tile>(o_tmem, kFirstColumn, fa4_ws_load_max_sum(inputs, fa4_ws_row<Tile>(), p),
                                     inputs.exponent, kWarpgroup, Carve::stage(memory, kWarpgroup),
                                     Carve::max_sum(memory, kWarpgroup), band);
}

// P = 2 * kMPack: partition w * kMPack + g is partition g of warpgroup w.
template <class Tile, class Out>
LSECHECK_KERNEL void fa4_ws_two_level_kernel(Fa4WsInputs inputs, Out* output) {
  static_assert(Tile::kDepthTiles == 1, "level 1 hands its whole band to level 2");
  using Carve = Fa4WsCarve<Tile, Out, 2, true>;
  LSECHECK_DYNAMIC_SHARED(memory, Carve::kBytes);
  TensorMemory<2 * Tile::kDepth> o_tmem(2 * kWarpgroupThreads);
  const unsigned warpgroup = threadIdx.x / kWarpgroupThreads;
  float band[Tile::kOwnCols];
  const MaxSum of_warpgroup = warpgroup == 0 ? fa4_ws_level1_of_two<Tile, Carve, 0>(inputs, memory, o_tmem, band)
                                             : fa4_ws_level1_of_two<Tile, Carve, 1>(inputs, memory, o_tmem, band);
  o_tmem.release(2 * kWarpgroupThreads);
  const auto o = Carve::output(memory);
  fa4_ws_level2_reduce_scatter_write<Tile, Out, false>(
      band, of_warpgroup, inputs.exponent, 0, Carve::level2_stage(memory, 0), Carve::level2_max_sum(memory), o);
  if (warpgroup == 0) fa4_ws_store_output<Tile, Out>(o, output, inputs.rows_heads);
}

}  // namespace lsecheck::sm100
