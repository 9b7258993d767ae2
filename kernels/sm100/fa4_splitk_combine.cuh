#pragma once

#include "kernels/ptx_float.h"
#include "kernels/sm100/warp_reduce.cuh"
#include "kernels/target.cuh"

// FA4 workspace split-K combine: one warp per output row-head, grid = rows_heads blocks of 32 threads, the consumer
// of a programmatic dependent launch.
//
// Shapes: lse_partial [P, num_rows_q, num_q_heads] f32, log2 domain, -inf marks an empty partition, whose o_partial is
// uninitialised; o_partial [P, num_rows_q, num_q_heads, D]; output [num_rows_q, num_q_heads, D].
//
// Operations, in order, every one rounded to nearest even in f32:
//   wait    griddepcontrol.wait, by every thread, before anything else
//   m       per lane max over its slots (slot k of lane l holds p = 32k + l), then the warp max; -inf: zeros, done
//   s       per lane, ascending k: sum of ex2(lse_p - m); then butterfly sum xor 16, 8, 4, 2, 1
//   g       lg2(s) + m
//   w_p     ex2(lse_p - g), kept in the lane and slot of p
//   acc[d]  p ascending from 0: fma(w_p, w_p != 0 ? o_p[d] : 0, acc[d])
//   out     cast, round to nearest even
//
// Bound: fa4_splitk_combine_bound.h. Largest bound_use seen: see the worst-case table in the README (its run is named
// there).
namespace lsecheck::sm100 {

inline constexpr int kFa4PMax = 160;

// How a depth is spread over the warp: vectors of 16 bytes or less where the depth divides evenly, single elements
// otherwise.
template <class Partial, int kDepth>
struct DepthSplit {
  static constexpr int kWidest = 16 / static_cast<int>(sizeof(Partial));
  static constexpr int kWidth = kDepth / 32 < kWidest ? kDepth / 32 : kWidest;
  static constexpr int kChunks = kDepth / (32 * kWidth);
  static constexpr bool kVector = 32 * kWidth * kChunks == kDepth && (kWidth & (kWidth - 1)) == 0;
};

// The slot registers of one lane: weights of partitions 32k + lane.
template <int kPStatic>
struct LaneSlots {
  static constexpr int kCount = ((kPStatic > 0 ? kPStatic : kFa4PMax) + 31) / 32;
  float weight[kCount];
};

// Loads the lane's LSEs and turns them into weights. False: every partition is empty.
template <int kPStatic>
LSECHECK_DEVICE bool fa4_weights(const float* lse_partial, int num_partitions, unsigned row_head, unsigned rows_heads,
                                 LaneSlots<kPStatic>& slots) {
  constexpr int kCount = LaneSlots<kPStatic>::kCount;
  const int lane = static_cast<int>(threadIdx.x);
  LSECHECK_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const int p = 32 * k + lane;
    slots.weight[k] = p < num_partitions
                          ? load_global(lse_partial + (static_cast<std::size_t>(p) * rows_heads + row_head))
                          : negative_infinity();
  }
  float m = slots.weight[0];
  LSECHECK_UNROLL
  for (int k = 1; k < kCount; ++k) m = max_non_nan(m, slots.weight[k]);
  m = warp_max(m);
  if (m == negative_infinity()) return false;

  float s = ex2_approx_ftz(slots.weight[0] - m);
  LSECHECK_UNROLL
  for (int k = 1; k < kCount; ++k) s = s + ex2_approx_ftz(slots.weight[k] - m);
  s = warp_sum(s);
  const float g = lg2_approx(s) + m;
  LSECHECK_UNROLL
  for (int k = 0; k < kCount; ++k) slots.weight[k] = ex2_approx_ftz(slots.weight[k] - g);
  return true;
}

// The select keeps what lies under an empty (or underflowed) partition out of the sum: 0 * NaN would be NaN.
LSECHECK_DEVICE float fa4_fold(float weight, float o, float acc) {
  return fma_rn(weight, weight != 0.0F ? o : 0.0F, acc);
}

// Whole depth by vectors; the vectors of partition p + 1 are in flight while p is folded. Never reads partition P.
template <class Out, class Partial, int kDepth, int kPStatic>
LSECHECK_DEVICE void fa4_fold_vectors(const LaneSlots<kPStatic>& slots, const Partial* o_partial, Out* output,
                                      int num_partitions, unsigned row_head, unsigned rows_heads) {
  using Split = DepthSplit<Partial, kDepth>;
  constexpr int kWidth = Split::kWidth;
  constexpr int kChunks = Split::kChunks;
  using PartialVector = Vector<Partial, kWidth>;
  const unsigned lane = threadIdx.x;

  const auto load = [&](int p, PartialVector(&to)[kChunks]) {
    const Partial* const row = o_partial + (static_cast<std::size_t>(p) * rows_heads + row_head) * kDepth;
    LSECHECK_UNROLL
    for (unsigned c = 0; c < kChunks; ++c) {
      to[c] = load_global(reinterpret_cast<const PartialVector*>(row + (c * 32 + lane) * kWidth));
    }
  };

  float acc[kChunks][kWidth] = {};
  PartialVector current[kChunks];
  load(0, current);
  LSECHECK_UNROLL
  for (int p = 0; p < num_partitions; ++p) {
    PartialVector next[kChunks];
    if (p + 1 < num_partitions) load(p + 1, next);
    const float weight = shuffle(slots.weight[p / 32], static_cast<unsigned>(p % 32));
    LSECHECK_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      LSECHECK_UNROLL
      for (int i = 0; i < kWidth; ++i) acc[c][i] = fa4_fold(weight, to_f32(current[c].element[i]), acc[c][i]);
    }
    if (p + 1 < num_partitions) {
      LSECHECK_UNROLL
      for (int c = 0; c < kChunks; ++c) current[c] = next[c];
    }
  }

  using OutVector = Vector<Out, kWidth>;
  Out* const row = output + static_cast<std::size_t>(row_head) * kDepth;
  LSECHECK_UNROLL
  for (unsigned c = 0; c < kChunks; ++c) {
    OutVector result;
    LSECHECK_UNROLL
    for (int i = 0; i < kWidth; ++i) result.element[i] = round_from_f32<Out>(acc[c][i]);
    store_global(reinterpret_cast<OutVector*>(row + (c * 32 + lane) * kWidth), result);
  }
}

// Depths that do not split into whole vectors: lane owns d = lane, lane + 32, ...; a partition of weight 0 is not read.
template <class Out, class Partial, int kDepth, int kPStatic>
LSECHECK_DEVICE void fa4_fold_scalars(const LaneSlots<kPStatic>& slots, const Partial* o_partial, Out* output,
                                      int num_partitions, unsigned row_head, unsigned rows_heads) {
  constexpr int kOwned = (kDepth + 31) / 32;
  const int lane = static_cast<int>(threadIdx.x);
  float acc[kOwned] = {};
  LSECHECK_UNROLL
  for (int p = 0; p < num_partitions; ++p) {
    const float weight = shuffle(slots.weight[p / 32], static_cast<unsigned>(p % 32));
    if (weight == 0.0F) continue;
    const Partial* const row = o_partial + (static_cast<std::size_t>(p) * rows_heads + row_head) * kDepth;
    LSECHECK_UNROLL
    for (int i = 0; i < kOwned; ++i) {
      const int d = lane + 32 * i;
      if (d < kDepth) acc[i] = fa4_fold(weight, to_f32(load_global(row + d)), acc[i]);
    }
  }
  Out* const row = output + static_cast<std::size_t>(row_head) * kDepth;
  LSECHECK_UNROLL
  for (int i = 0; i < kOwned; ++i) {
    const int d = lane + 32 * i;
    if (d < kDepth) store_global(row + d, round_from_f32<Out>(acc[i]));
  }
}

template <class Out, int kDepth>
LSECHECK_DEVICE void fa4_store_zeros(Out* output, unsigned row_head) {
  for (int d = static_cast<int>(threadIdx.x); d < kDepth; d += 32) {
    store_global(output + (static_cast<std::size_t>(row_head) * kDepth + static_cast<unsigned>(d)),
                 round_from_f32<Out>(0.0F));
  }
}

// kPStatic > 0: compiled for exactly that many partitions. kPStatic = 0: num_partitions at run time, up to kFa4PMax
// (the host refuses more).
template <class Out, class Partial, int kDepth, int kPStatic>
LSECHECK_KERNEL void fa4_splitk_combine(const float* lse_partial, const Partial* o_partial, Out* output,
                                        int runtime_partitions, unsigned num_rows_q, unsigned num_q_heads) {
  grid_dependency_wait();
  const unsigned rows_heads = num_rows_q * num_q_heads;
  const unsigned row_head = blockIdx.x;  // token * num_q_heads + q_head
  if (row_head >= rows_heads) return;
  const int num_partitions = kPStatic > 0 ? kPStatic : runtime_partitions;

  LaneSlots<kPStatic> slots;
  if (!fa4_weights<kPStatic>(lse_partial, num_partitions, row_head, rows_heads, slots)) {
    fa4_store_zeros<Out, kDepth>(output, row_head);
    return;
  }
  if constexpr (DepthSplit<Partial, kDepth>::kVector) {
    fa4_fold_vectors<Out, Partial, kDepth, kPStatic>(slots, o_partial, output, num_partitions, row_head, rows_heads);
  } else {
    fa4_fold_scalars<Out, Partial, kDepth, kPStatic>(slots, o_partial, output, num_partitions, row_head, rows_heads);
  }
}

}  // namespace lsecheck::sm100
