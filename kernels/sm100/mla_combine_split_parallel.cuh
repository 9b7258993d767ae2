#pragma once

#include "kernels/sm100/mla_place.cuh"

// MLA decode split-K combine for long caches and few sequences: one (sequence, query position, head) per block of 8
// warps, grid = (batch, seq, heads). Warp w folds the splits [w * c, (w + 1) * c), c = ceil(S / 8), in one pass over
// the whole depth; the warps' (m, l, acc) are merged in a tree. The consumer of a programmatic dependent launch.
//
// Shapes: as mla_combine.cuh.
//
// Operations, in order, every one rounded to nearest even in f32:
//   wait    griddepcontrol.wait, by every thread, before anything else
//   exit    heads beyond the last, then past the sequence's length (ragged)
//   fold    from m = -inf, l = 0, acc = 0, splits ascending; an lse of -inf is skipped before its o is loaded:
//           n = max(m, lse), r = ex2(m - n), e = ex2(lse - n)
//           acc[d] = fma(r, acc[d], e * o[d]), l = fma(l, r, e), m = n
//   merge   strides 4, 2, 1, warp w < stride with partner w + stride:
//           n = max(m, m'), r = ex2(m - n), r' = ex2(m' - n), both 0 where n is -inf
//           acc[d] = fma(r, acc[d], r' * acc'[d]), l = fma(l, r, l' * r'), m = n
//   sink    a = sink * log2e; l = l + ex2(a - m), or l = 0 where m is -inf
//   out     inv = l == 0 ? 0 : 1 / l (true division); inv * acc[d]; cast, round to nearest even
//
// Bound and special values: mla_split_parallel_bound.h.
namespace lsecheck::sm100 {

inline constexpr unsigned kSplitParallelWarps = 8;

// One warp's running result; every lane holds the same m and l.
template <int kChunks, int kWidth>
struct OnlineState {
  float m;
  float l;
  float acc[kChunks][kWidth];
};

template <class T, int kHeadDim, int kNumSplits>
LSECHECK_KERNEL void mla_combine_split_parallel(const float* lse_partial, const T* o_partial, T* output,
                                                const float* attention_sink, MlaGeometry geometry) {
  using Split = MlaDepthSplit<T, kHeadDim, 32>;
  using PartialVector = typename Split::PartialVector;
  constexpr int kWidth = Split::kWidth;
  constexpr unsigned kChunks = Split::kChunks;
  constexpr unsigned kSplitsPerWarp = (kNumSplits + kSplitParallelWarps - 1) / kSplitParallelWarps;
  grid_dependency_wait();
  const unsigned head = blockIdx.z;
  if (head >= geometry.num_heads) return;
  const unsigned batch = blockIdx.x;
  const unsigned seq_idx = blockIdx.y;
  if (mla_past_end(geometry, batch, seq_idx)) return;  // the whole block: no barrier is left waiting
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;

  OnlineState<kChunks, kWidth> mine = {negative_infinity(), 0.0F, {}};
  for (unsigned i = 0; i < kSplitsPerWarp; ++i) {
    const unsigned p = warp * kSplitsPerWarp + i;
    if (p >= kNumSplits) break;
    const std::size_t place = mla_workspace_index(geometry, p, batch, seq_idx, head);
    const float lse = load_global(lse_partial + place);
    if (lse == negative_infinity()) continue;
    const float n = max_non_nan(mine.m, lse);
    const float r = ex2_approx_ftz(mine.m - n);
    const float e = ex2_approx_ftz(lse - n);
    const T* const row = o_partial + place * kHeadDim;
    LSECHECK_UNROLL
    for (unsigned c = 0; c < kChunks; ++c) {
      const PartialVector o = load_global(reinterpret_cast<const PartialVector*>(row + (c * 32 + lane) * kWidth));
      LSECHECK_UNROLL
      for (int j = 0; j < kWidth; ++j) mine.acc[c][j] = fma_rn(r, mine.acc[c][j], e * to_f32(o.element[j]));
    }
    mine.l = fma_rn(mine.l, r, e);
    mine.m = n;
  }

  LSECHECK_SHARED_ARRAY(float, shared_m, kSplitParallelWarps);
  LSECHECK_SHARED_ARRAY(float, shared_l, kSplitParallelWarps);
  LSECHECK_SHARED_ARRAY(float, shared_acc, kSplitParallelWarps* kHeadDim);
  // A round reads the slots [stride, 2 stride) only, the next one writes below them: one barrier a round is enough.
  LSECHECK_UNROLL
  for (unsigned stride = kSplitParallelWarps / 2; stride > 0; stride /= 2) {
    if (warp >= stride && warp < 2 * stride) {
      if (lane == 0) {
        shared_m.store(warp, mine.m);
        shared_l.store(warp, mine.l);
      }
      LSECHECK_UNROLL
      for (unsigned c = 0; c < kChunks; ++c) {
        for (unsigned j = 0; j < kWidth; ++j) {
          shared_acc.store(warp * kHeadDim + (c * 32 + lane) * kWidth + j, mine.acc[c][j]);
        }
      }
    }
    block_barrier(0, 32 * kSplitParallelWarps);
    if (warp >= stride) continue;
    const unsigned partner = warp + stride;
    const float partner_m = shared_m.load(partner);
    const float n = max_non_nan(mine.m, partner_m);
    const bool both_empty = n == negative_infinity();
    const float r = both_empty ? 0.0F : ex2_approx_ftz(mine.m - n);
    const float partner_r = both_empty ? 0.0F : ex2_approx_ftz(partner_m - n);
    LSECHECK_UNROLL
    for (unsigned c = 0; c < kChunks; ++c) {
      for (unsigned j = 0; j < kWidth; ++j) {
        const float partner_acc = shared_acc.load(partner * kHeadDim + (c * 32 + lane) * kWidth + j);
        mine.acc[c][j] = fma_rn(r, mine.acc[c][j], partner_r * partner_acc);
      }
    }
    mine.l = fma_rn(mine.l, r, shared_l.load(partner) * partner_r);
    mine.m = n;
  }
  if (warp != 0) return;

  if (attention_sink != nullptr) {
    const float a = load_global(attention_sink + head) * kLog2eF32;
    mine.l = mine.m == negative_infinity() ? 0.0F : mine.l + ex2_approx_ftz(a - mine.m);
  }
  const float inverse = mine.l == 0.0F ? 0.0F : divide_rn(1.0F, mine.l);
  T* const out_row = output + mla_output_index(geometry, batch, seq_idx, head) * kHeadDim;
  LSECHECK_UNROLL
  for (unsigned c = 0; c < kChunks; ++c) {
    PartialVector result;
    LSECHECK_UNROLL
    for (int j = 0; j < kWidth; ++j) result.element[j] = round_from_f32<T>(inverse * mine.acc[c][j]);
    store_global(reinterpret_cast<PartialVector*>(out_row + (c * 32 + lane) * kWidth), result);
  }
}

}  // namespace lsecheck::sm100
