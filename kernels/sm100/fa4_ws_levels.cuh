#pragma once

#include "kernels/sm100/fa4_ws_tile.cuh"

// The in-CTA combine of one attention tile: the partitions of a warpgroup (fa4_ws_intracta_combine where one warpgroup
// had all the work, fa4_ws_level1_combine where two shared it), then the two warpgroups
// (fa4_ws_level2_reduce_scatter_write). A partition brings an unnormalised accumulator O, the mass l and the reference
// exponent m of both; all three may be at any common scale, but a partition without keys has m = -inf, l = 0 and a
// finite O.
//
// Operations, in order, f32, round to nearest even; .ftz where the operation is named so (ptx_float.h):
//   level 1   m = max.ftz over g; e_g = m_g - m; with use_fma e_g = mul.ftz(e_g, scale_log2e); s_g = ex2(e_g)
//             l = fma(s_1, l_1, s_0 * l_0) for 2; (fma(s_2, l_2, s_0 * l_0) + fma(s_3, l_3, s_1 * l_1)) for 4
//             acc[c] = mul.ftz(s_0, O_0[c]), then fma.ftz(s_g, O_g[c], acc[c]), g ascending
//   intracta  as level 1, then acc[c] = mul.ftz(acc[c], rcp.ftz(l)); cast, round to nearest even
//   level 2   m = max.ftz(m_0, m_1); e_w, s_w as above; l = fma(s_1, l_1, mul.ftz(s_0, l_0))
//             out[c] = mul.ftz(fma.ftz(s_1, O_1[c], mul.ftz(s_0, O_0[c])), rcp.ftz(l)); cast
//             one warpgroup alone: s_0 = 1, l = l_0, and no operation that the peer would have entered
// The maximum of 4 may be taken 3 operands at a time: the same bits. Subtract first, then multiply: the largest m has e
// = 0 and s = 1 exactly.
//
// No guard: a row without any key (every m = -inf) gives NaN, as does Inf or NaN in an O under a weight of 0.
// Bound: fa4_ws_bound.h. Special values: fa4_ws_row_contract.h.
namespace lsecheck::sm100 {

struct Fa4WsExponent {
  bool use_fma;       // m is in raw score units
  float scale_log2e;  // softmax scale * log2(e), > 0; read with use_fma only

  LSECHECK_DEVICE float weight(float m, float reference) const {
    const float difference = m - reference;
    return ex2_approx_ftz(use_fma ? mul_ftz(difference, scale_log2e) : difference);
  }
};

// l of a warpgroup's partitions: two chains for 4, so that their roundings do not add up.
LSECHECK_DEVICE float fa4_ws_mass(const float (&s)[2], const MaxSum (&of)[2]) {
  return fma_rn(s[1], of[1].l, s[0] * of[0].l);
}
LSECHECK_DEVICE float fa4_ws_mass(const float (&s)[4], const MaxSum (&of)[4]) {
  const float even = fma_rn(s[2], of[2].l, s[0] * of[0].l);
  const float odd = fma_rn(s[3], of[3].l, s[1] * of[1].l);
  return even + odd;
}

// Raw O and (m, l) of this thread's row and partition, for the others.
template <class Tile, unsigned kColumns>
LSECHECK_DEVICE void fa4_ws_stage(const TensorMemory<kColumns>& o_tmem, unsigned first_column, MaxSum own,
                                  const SharedWindow<StageBlock>& stage, const SharedWindow<MaxSum>& max_sum) {
  const unsigned thread = threadIdx.x % kWarpgroupThreads;
  const unsigned g = thread / Tile::kRows;
  const unsigned r = thread % Tile::kRows;
  LSECHECK_UNROLL
  for (unsigned column = 0; column < Tile::kDepth; column += 16) {
    float raw[16];
    o_tmem.load(thread / 32 * 32, first_column + column, raw);
    LSECHECK_UNROLL
    for (unsigned i = 0; i < 16; i += 4) {
      stage.store(Tile::stage_block(g, r, (column + i) / 4), StageBlock{{raw[i], raw[i + 1], raw[i + 2], raw[i + 3]}});
    }
  }
  max_sum.store(Tile::max_sum_slot(g, r), own);
}

// Combines the partitions of a warpgroup, whose 128 threads all call it. band: columns [g * kOwnCols, (g + 1) *
// kOwnCols) of this thread's row, unnormalised. Returns the row's (m, l), the same bits in every thread of the row.
template <class Tile, unsigned kColumns>
LSECHECK_DEVICE MaxSum fa4_ws_level1_combine(const TensorMemory<kColumns>& o_tmem, unsigned first_column, MaxSum own,
                                             const Fa4WsExponent& exponent, unsigned warpgroup,
                                             const SharedWindow<StageBlock>& stage, const SharedWindow<MaxSum>& max_sum,
                                             float (&band)[Tile::kOwnCols]) {
  constexpr unsigned kMPack = Tile::kMPack;
  fa4_ws_stage<Tile>(o_tmem, first_column, own, stage, max_sum);
  block_barrier(warpgroup, kWarpgroupThreads);  // O is staged raw, so that this one is enough

  const unsigned thread = threadIdx.x % kWarpgroupThreads;
  const unsigned g = thread / Tile::kRows;
  const unsigned r = thread % Tile::kRows;
  MaxSum of[kMPack];
  LSECHECK_UNROLL
  for (unsigned p = 0; p < kMPack; ++p) of[p] = max_sum.load(Tile::max_sum_slot(p, r));
  float m = of[0].m;
  LSECHECK_UNROLL
  for (unsigned p = 1; p < kMPack; ++p) m = max_ftz(m, of[p].m);
  float s[kMPack];
  LSECHECK_UNROLL
  for (unsigned p = 0; p < kMPack; ++p) s[p] = exponent.weight(of[p].m, m);

  LSECHECK_UNROLL
  for (unsigned b = 0; b < Tile::kOwnCols / 4; ++b) {
    const unsigned block = g * (Tile::kOwnCols / 4) + b;
    const StageBlock first = stage.load(Tile::stage_block(0, r, block));
    LSECHECK_UNROLL
    for (unsigned k = 0; k < 4; ++k) band[4 * b + k] = mul_ftz(s[0], first.element[k]);
    LSECHECK_UNROLL
    for (unsigned p = 1; p < kMPack; ++p) {
      const StageBlock raw = stage.load(Tile::stage_block(p, r, block));
      LSECHECK_UNROLL
      for (unsigned k = 0; k < 4; ++k) band[4 * b + k] = fma_rn_ftz(s[p], raw.element[k], band[4 * b + k]);
    }
  }
  return {m, fa4_ws_mass(s, of)};
}

// Casts `count` columns from first_column on of this thread's row and packs them into the output window.
template <class Tile, class Out, unsigned kCount>
LSECHECK_DEVICE void fa4_ws_pack(const float (&values)[kCount], unsigned first_column,
                                 const SharedWindow<OutputBlock<Out>>& o) {
  constexpr unsigned kWidth = 16 / sizeof(Out);
  const unsigned r = threadIdx.x % kWarpgroupThreads % Tile::kRows;
  LSECHECK_UNROLL
  for (unsigned b = 0; b < kCount / kWidth; ++b) {
    OutputBlock<Out> block;
    LSECHECK_UNROLL
    for (unsigned k = 0; k < kWidth; ++k) block.element[k] = round_from_f32<Out>(values[b * kWidth + k]);
    o.store(Tile::output_block(r, first_column / kWidth + b), block);
  }
}

// Combines the partitions of the only warpgroup and packs the normalised rows into o. Returns the row's (m, l).
template <class Tile, class Out, unsigned kColumns>
LSECHECK_DEVICE MaxSum fa4_ws_intracta_combine(const TensorMemory<kColumns>& o_tmem, MaxSum own,
                                               const Fa4WsExponent& exponent, const SharedWindow<StageBlock>& stage,
                                               const SharedWindow<MaxSum>& max_sum,
                                               const SharedWindow<OutputBlock<Out>>& o) {
  float band[Tile::kOwnCols];
  const MaxSum all = fa4_ws_level1_combine<Tile>(o_tmem, 0, own, exponent, 0, stage, max_sum, band);
  const float inverse = rcp_approx_ftz(all.l);
  LSECHECK_UNROLL
  for (unsigned c = 0; c < Tile::kOwnCols; ++c) band[c] = mul_ftz(band[c], inverse);
  fa4_ws_pack<Tile, Out>(band, threadIdx.x / Tile::kRows * Tile::kOwnCols, o);
  return all;
}

// Combines the bands of two warpgroups in one depth tile (columns from depth_base on), by all 256 threads; warpgroup 0
// packs the result into o and returns the row's (m, l), warpgroup 1 its own, which means nothing. stage is the window
// of this depth tile alone: nothing orders warpgroup 1's next store against warpgroup 0's present loads. max_sum
// carries (m, l) of warpgroup 1, stored at depth_base 0 and read again at the others. kSingleWarpgroup: warpgroup 0 did
// all the work and calls alone; the peer's windows hold stale bytes and are not read.
template <class Tile, class Out, bool kSingleWarpgroup>
LSECHECK_DEVICE MaxSum fa4_ws_level2_reduce_scatter_write(float (&band)[Tile::kBandCols], MaxSum own,
                                                          const Fa4WsExponent& exponent, unsigned depth_base,
                                                          const SharedWindow<StageBlock>& stage,
                                                          const SharedWindow<MaxSum>& max_sum,
                                                          const SharedWindow<OutputBlock<Out>>& o) {
  const unsigned thread = threadIdx.x % kWarpgroupThreads;
  const unsigned g = thread / Tile::kRows;
  const unsigned r = thread % Tile::kRows;
  const bool is_peer = threadIdx.x >= kWarpgroupThreads;
  MaxSum all = own;
  if constexpr (!kSingleWarpgroup) {
    if (is_peer) {
      LSECHECK_UNROLL
      for (unsigned b = 0; b < Tile::kBandCols / 4; ++b) {
        stage.store(Tile::band_block(g, r, b),
                    StageBlock{{band[4 * b], band[4 * b + 1], band[4 * b + 2], band[4 * b + 3]}});
      }
      if (depth_base == 0 && g == 0) max_sum.store(r, own);
    }
    block_barrier(3, 2 * kWarpgroupThreads);
    if (is_peer) return own;

    const MaxSum peer = max_sum.load(r);
    all.m = max_ftz(own.m, peer.m);
    const float s_own = exponent.weight(own.m, all.m);
    const float s_peer = exponent.weight(peer.m, all.m);
    all.l = fma_rn(s_peer, peer.l, mul_ftz(s_own, own.l));
    LSECHECK_UNROLL
    for (unsigned b = 0; b < Tile::kBandCols / 4; ++b) {
      const StageBlock theirs = stage.load(Tile::band_block(g, r, b));
      LSECHECK_UNROLL
      for (unsigned k = 0; k < 4; ++k) {
        band[4 * b + k] = fma_rn_ftz(s_peer, theirs.element[k], mul_ftz(s_own, band[4 * b + k]));
      }
    }
  }
  const float inverse = rcp_approx_ftz(all.l);
  LSECHECK_UNROLL
  for (unsigned c = 0; c < Tile::kBandCols; ++c) band[c] = mul_ftz(band[c], inverse);
  fa4_ws_pack<Tile, Out>(band, depth_base + g * Tile::kBandCols, o);
  return all;
}

}  // namespace lsecheck::sm100
