#pragma once

#include "kernels/ptx_float.h"
#include "kernels/sm100/warp_reduce.cuh"
#include "kernels/target.cuh"

// Split-K reduction of older multi-head decode attention: one warp per (row, head), grid = (1, heads, rows). Maximum
// and mass of a partition come apart, at most 32 partitions.
//
// Shapes: qk_max, exp_sum [P, rows, heads] f32; o_partial [P, rows, heads, D], divided by exp_sum already; output
// [rows, heads, D]. exp_sum 0 marks an empty partition, whose qk_max may be anything and counts in the maximum all the
// same, and whose o_partial is uninitialised.
//
// Operations, in order, every one rounded to nearest even in f32:
//   M       warp max over qk_max, -inf in the lanes without a partition
//   w_p     exp_sum_p * ex2(qk_max_p - M), or with natural exponents exp_sum_p * ex2((qk_max_p - M) * log2e); 0 in the
//           lanes without a partition. Kept in shared memory.
//   total   butterfly sum of w xor 16, 8, 4, 2, 1;  inv = 1 / total (true division)
//   acc[d]  p ascending from acc = c = 0: term = (w_p > 0 ? o_p[d] : 0) * w_p; y = term - c; t = acc + y;
//           c = (t - acc) - y; acc = t
//   out     acc * inv; cast, round to nearest even
//
// Nothing guards a row of empty partitions, which gives NaN. Bound and special values: mha_splitk_reduce_bound.h.
namespace lsecheck::sm100 {

inline constexpr int kMhaPMax = 32;

// A lane owns kWidth consecutive elements, the smallest power of two with which 32 lanes cover the depth; lanes past it
// own none. T is moved kPiece elements at a time, 16 bytes or less.
template <int kDepth>
struct MhaDepthSplit {
  static constexpr int next_power_of_two(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
  }
  static constexpr int kWidth = next_power_of_two((kDepth + 31) / 32);
  static_assert(kDepth % kWidth == 0, "the depth must split into whole vectors");
  template <class T>
  static constexpr int kPiece = kWidth* static_cast<int>(sizeof(T)) > 16 ? 16 / static_cast<int>(sizeof(T)) : kWidth;
};

// Kahan's sum of the weighted values of one element.
struct CompensatedSum {
  float acc = 0.0F;
  float compensation = 0.0F;
};

LSECHECK_DEVICE void mha_add(CompensatedSum& sum, float weight, float o) {
  // The select keeps what lies under an empty partition out of the sum: 0 * NaN would be NaN.
  const float term = (weight > 0.0F ? o : 0.0F) * weight;
  const float y = term - sum.compensation;
  const float t = sum.acc + y;
  sum.compensation = (t - sum.acc) - y;
  sum.acc = t;
}

template <class Out, class Partial, int kDepth, bool kNatural>
LSECHECK_KERNEL void mha_splitk_reduce(const float* qk_max, const float* exp_sum, const Partial* o_partial, Out* output,
                                       unsigned num_partitions, unsigned num_rows, unsigned num_heads) {
  using Split = MhaDepthSplit<kDepth>;
  constexpr unsigned kWidth = Split::kWidth;
  const unsigned lane = threadIdx.x;
  const std::size_t rows_heads = static_cast<std::size_t>(num_rows) * num_heads;
  const std::size_t row_head = static_cast<std::size_t>(blockIdx.z) * num_heads + blockIdx.y;

  const bool has_partition = lane < num_partitions;
  const std::size_t place = lane * rows_heads + row_head;
  const float m = has_partition ? load_global(qk_max + place) : negative_infinity();
  const float largest = warp_max(m);
  float weight = 0.0F;
  if (has_partition) {
    const float difference = m - largest;
    weight = load_global(exp_sum + place) * ex2_approx_ftz(kNatural ? difference * kLog2eF32 : difference);
  }
  LSECHECK_SHARED_ARRAY(float, shared_weight, kMhaPMax);
  shared_weight.store(lane, weight);
  block_barrier(0, 32);
  const float inverse = divide_rn(1.0F, warp_sum(weight));

  const unsigned first = lane * kWidth;
  if (first >= kDepth) return;
  CompensatedSum sums[kWidth];
  constexpr unsigned kIn = Split::template kPiece<Partial>;
  for (unsigned p = 0; p < num_partitions; ++p) {
    const float w = shared_weight.load(p);
    const Partial* const row = o_partial + (p * rows_heads + row_head) * kDepth + first;
    LSECHECK_UNROLL
    for (unsigned piece = 0; piece < kWidth; piece += kIn) {
      const auto o = load_global(reinterpret_cast<const Vector<Partial, kIn>*>(row + piece));
      LSECHECK_UNROLL
      for (unsigned i = 0; i < kIn; ++i) mha_add(sums[piece + i], w, to_f32(o.element[i]));
    }
  }

  constexpr unsigned kOut = Split::template kPiece<Out>;
  Out* const out_row = output + row_head * kDepth + first;
  LSECHECK_UNROLL
  for (unsigned piece = 0; piece < kWidth; piece += kOut) {
    Vector<Out, kOut> result;
    LSECHECK_UNROLL
    for (unsigned i = 0; i < kOut; ++i) result.element[i] = round_from_f32<Out>(sums[piece + i].acc * inverse);
    store_global(reinterpret_cast<Vector<Out, kOut>*>(out_row + piece), result);
  }
}

}  // namespace lsecheck::sm100
