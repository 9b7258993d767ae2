#pragma once

#include "kernels/sm100/mla_place.cuh"
#include "kernels/sm100/warp_reduce.cuh"

// MLA decode split-K combine: kWarpsPerHead (1, 2, 4 or 8) warps per (sequence, query position, head), 256 threads a
// block, grid = (batch, seq, ceil(heads / heads_per_block)), heads_per_block = 8 / kWarpsPerHead; the consumer of a
// programmatic dependent launch. Sub-warp s of a head owns the depth [s * D / kWarpsPerHead, (s + 1) * D /
// kWarpsPerHead); every warp forms the same weights.
//
// Shapes: lse_partial [S, batch, seq, heads] f32, log2 domain, -inf marks an empty split, whose o_partial is
// uninitialised; o_partial [S, batch, seq, heads, D]; output [rows, heads, D] (mla_place.cuh); attention_sink [heads]
// f32, natural log, finite or -inf, or null: no sink.
//
// Operations, in order, every one rounded to nearest even in f32:
//   wait    griddepcontrol.wait, by every thread, before anything else
//   exit    past the sequence's length (ragged), then heads beyond the last
//   m       per lane max over its slots (slot k of lane l holds split 32k + l), then the warp max; 0 if that is -inf
//   s       per lane, ascending k, over real splits: sum of ex2(lse - m); then butterfly sum xor 16, 8, 4, 2, 1
//   g       lg2(s) + m; +inf if s == 0, that is if every split is empty
//   sink    a = sink * log2e; g = g + lg2(1 + ex2(a - g)); if every split is empty g = a, +inf where a is -inf too
//   w_p     ex2(lse_p - g), kept in the lane and slot of p
//   acc[d]  p ascending from 0: fma(w_p, w_p != 0 ? o_p[d] : 0, acc[d])
//   out     cast, round to nearest even
//
// The depth is handled element by element, so kWarpsPerHead changes no bit. Bound: mla_row_contract.h.
namespace lsecheck::sm100 {

inline constexpr int kMlaWarpsPerBlock = 8;

template <int kNumSplits>
struct MlaSlots {
  static constexpr int kCount = (kNumSplits + 31) / 32;
  float weight[kCount];
};

// g of the row with the sink's mass in it. sum_is_zero: every split is empty.
LSECHECK_DEVICE float mla_add_sink(float g, bool sum_is_zero, float attention_sink) {
  const float a = attention_sink * kLog2eF32;
  if (sum_is_zero) return a == negative_infinity() ? g : a;
  return g + lg2_approx(1.0F + ex2_approx_ftz(a - g));
}

template <int kNumSplits>
LSECHECK_DEVICE void mla_weights(const float* lse_partial, const float* attention_sink, const MlaGeometry& geometry,
                                 unsigned batch, unsigned seq_idx, unsigned head, MlaSlots<kNumSplits>& slots) {
  constexpr int kCount = MlaSlots<kNumSplits>::kCount;
  const int lane = static_cast<int>(threadIdx.x % 32);
  LSECHECK_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const int p = 32 * k + lane;
    slots.weight[k] =
        p < kNumSplits
            ? load_global(lse_partial + mla_workspace_index(geometry, static_cast<unsigned>(p), batch, seq_idx, head))
            : negative_infinity();
  }
  float m = slots.weight[0];
  LSECHECK_UNROLL
  for (int k = 1; k < kCount; ++k) m = max_non_nan(m, slots.weight[k]);
  m = warp_max(m);
  if (m == negative_infinity()) m = 0.0F;

  float s = 0.0F;
  LSECHECK_UNROLL
  for (int k = 0; k < kCount; ++k) {
    if (32 * k + lane < kNumSplits) s = s + ex2_approx_ftz(slots.weight[k] - m);
  }
  s = warp_sum(s);
  const bool all_empty = s == 0.0F;
  float g = all_empty ? positive_infinity() : lg2_approx(s) + m;
  if (attention_sink != nullptr) g = mla_add_sink(g, all_empty, load_global(attention_sink + head));
  LSECHECK_UNROLL
  for (int k = 0; k < kCount; ++k) slots.weight[k] = ex2_approx_ftz(slots.weight[k] - g);
}

template <class T, int kHeadDim, int kNumSplits, int kWarpsPerHead>
LSECHECK_KERNEL void mla_combine(const float* lse_partial, const T* o_partial, T* output, const float* attention_sink,
                                 MlaGeometry geometry) {
  static_assert(kMlaWarpsPerBlock % kWarpsPerHead == 0, "the warps of a head share a block");
  using Split = MlaDepthSplit<T, kHeadDim, 32 * kWarpsPerHead>;
  using PartialVector = typename Split::PartialVector;
  constexpr int kWidth = Split::kWidth;
  constexpr int kChunks = Split::kChunks;
  grid_dependency_wait();
  const unsigned batch = blockIdx.x;
  const unsigned seq_idx = blockIdx.y;
  if (mla_past_end(geometry, batch, seq_idx)) return;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned sub_warp = warp % kWarpsPerHead;
  const unsigned head = blockIdx.z * (kMlaWarpsPerBlock / kWarpsPerHead) + warp / kWarpsPerHead;
  if (head >= geometry.num_heads) return;

  MlaSlots<kNumSplits> slots;
  mla_weights<kNumSplits>(lse_partial, attention_sink, geometry, batch, seq_idx, head, slots);

  // The lane's first element of chunk c.
  const auto depth_of = [&](unsigned c) { return sub_warp * (kHeadDim / kWarpsPerHead) + (c * 32 + lane) * kWidth; };
  float acc[kChunks][kWidth] = {};
  LSECHECK_UNROLL
  for (unsigned p = 0; p < kNumSplits; ++p) {
    const T* const row = o_partial + mla_workspace_index(geometry, p, batch, seq_idx, head) * kHeadDim;
    const float weight = shuffle(slots.weight[p / 32], p % 32);
    LSECHECK_UNROLL
    for (unsigned c = 0; c < kChunks; ++c) {
      const PartialVector o = load_global(reinterpret_cast<const PartialVector*>(row + depth_of(c)));
      LSECHECK_UNROLL
      for (int i = 0; i < kWidth; ++i) {
        // The select keeps what lies under an empty (or underflowed) split out of the sum: 0 * NaN would be NaN. It is
        // made on the element as it was loaded: around a conversion, nvcc makes a branch of it and loads the rest of
        // the vector only where it is taken.
        const T kept = weight != 0.0F ? o.element[i] : T{};
        acc[c][i] = fma_rn(weight, to_f32(kept), acc[c][i]);
      }
    }
  }

  T* const out_row = output + mla_output_index(geometry, batch, seq_idx, head) * kHeadDim;
  LSECHECK_UNROLL
  for (unsigned c = 0; c < kChunks; ++c) {
    PartialVector result;
    LSECHECK_UNROLL
    for (int i = 0; i < kWidth; ++i) result.element[i] = round_from_f32<T>(acc[c][i]);
    store_global(reinterpret_cast<PartialVector*>(out_row + depth_of(c)), result);
  }
}

}  // namespace lsecheck::sm100
