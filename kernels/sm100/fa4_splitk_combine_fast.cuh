#pragma once

#include "kernels/sm100/fa4_splitk_combine.cuh"

// FA4 workspace split-K combine, the faster variant: the bits of fa4_splitk_combine with the run-time partition count,
// at the rate of a device copy. Vector depths only. Same arguments, same launch attribute; only the grid differs.
//
// Every value goes through the operations of fa4_splitk_combine.cuh in their order; what changes is who does what when:
//   * a lane owns kLoadBytes of a row, so a warp folds several short rows or a part of a long one, and a block has
//     kFastWarps of them: enough threads on a multiprocessor to fill it (one warp per block stops at 32 warps);
//   * O is copied to shared memory asynchronously, kStages batches ahead, from the first instruction after the wait:
//     those loads need no weight. A lane reads back only what it copied itself, so no barrier orders it;
//   * the weights of a warp's rows are computed once and read from shared memory.
// 16 bytes a lane is for grids that fill the chip, 4 bytes for few rows: more warps share each.
//
// Measured on an H200: reports/measured.
namespace lsecheck::sm100 {

// Eight warps, unless the weights of their rows and the ring would pass the 48 KiB of static shared memory.
constexpr unsigned fast_warps_per_block(unsigned row_bytes, int load_bytes) {
  return load_bytes == 16 && row_bytes >= 256 ? 8 : 4;
}

// How a depth is spread over lanes and warps when each lane owns kLoadBytes of a row.
template <class Partial, int kDepth, int kLoadBytes>
struct FastSplit {
  static constexpr int kWidth = kLoadBytes / static_cast<int>(sizeof(Partial));
  static constexpr unsigned kLanesPerRow = static_cast<unsigned>(kDepth / kWidth);
  static constexpr unsigned kRowsPerWarp = kLanesPerRow >= 32 ? 1 : 32 / kLanesPerRow;
  static constexpr unsigned kWarpsPerRow = kLanesPerRow >= 32 ? kLanesPerRow / 32 : 1;
  static constexpr unsigned kWarps = fast_warps_per_block(kDepth * sizeof(Partial), kLoadBytes);
  static constexpr unsigned kThreads = 32 * kWarps;
  // Copies in flight per lane: 8 of 16 bytes, or 32 of 4 bytes.
  static constexpr int kBatch = kLoadBytes == 16 ? 2 : 4;
  static constexpr int kStages = kLoadBytes == 16 ? 4 : 8;
};

// Rows of weights in shared memory lie four banks apart: lanes of different rows read the same partition together.
inline constexpr unsigned kFastWeightStride = kFa4PMax + 4;

// The weight of an all-empty row is 0, so that its fold gives the +0 which fa4_splitk_combine stores.
LSECHECK_DEVICE float fast_weight(float lse, float m, float g) {
  return m == negative_infinity() ? 0.0F : ex2_approx_ftz(lse - g);
}

// The rows of one warp: their LSEs in its lanes, then their weights in shared memory.
template <unsigned kRows>
struct FastRows {
  static constexpr int kSlots = LaneSlots<0>::kCount;
  static constexpr unsigned kGroup = 32 / kRows;  // lanes of a row where all rows fit in the warp at once
  const float* lse_partial;
  int num_partitions;
  unsigned first_row;
  unsigned rows_heads;
  unsigned lane;
  float lse[kRows][kSlots];

  LSECHECK_DEVICE bool grouped() const { return kRows > 1 && num_partitions <= static_cast<int>(kGroup); }

  // Rows past the last one follow it.
  LSECHECK_DEVICE float load_one(int p, unsigned row) const {
    const unsigned row_head = first_row + row < rows_heads ? first_row + row : rows_heads - 1;
    return p < num_partitions ? load_global(lse_partial + (static_cast<std::size_t>(p) * rows_heads + row_head))
                              : negative_infinity();
  }
  LSECHECK_DEVICE void load() {
    if (grouped()) {
      lse[0][0] = load_one(static_cast<int>(lane % kGroup), lane / kGroup);
      return;
    }
    LSECHECK_UNROLL
    for (unsigned row = 0; row < kRows; ++row) {
      LSECHECK_UNROLL
      for (int k = 0; k < kSlots; ++k) lse[row][k] = load_one(32 * k + static_cast<int>(lane), row);
    }
  }

  LSECHECK_DEVICE void store_weights(const SharedArray<float>& weights, unsigned first) const {
    if (grouped()) {
      store_grouped(weights, first);
      return;
    }
    LSECHECK_UNROLL
    for (unsigned row = 0; row < kRows; ++row) store_row(row, weights, first + row * kFastWeightStride);
  }

  // fa4_weights by the whole warp.
  LSECHECK_DEVICE void store_row(unsigned row, const SharedArray<float>& weights, unsigned first) const {
    float m = lse[row][0];
    LSECHECK_UNROLL
    for (int k = 1; k < kSlots; ++k) m = max_non_nan(m, lse[row][k]);
    m = warp_max(m);
    // Slots beyond P would add ex2(-inf) = +0.
    float s = ex2_approx_ftz(lse[row][0] - m);
    LSECHECK_UNROLL
    for (int k = 1; k < kSlots; ++k) {
      if (32 * k < num_partitions) s = s + ex2_approx_ftz(lse[row][k] - m);
    }
    s = warp_sum(s);
    const float g = lg2_approx(s) + m;
    LSECHECK_UNROLL
    for (int k = 0; k < kSlots; ++k) {
      if (32 * k < num_partitions) {
        weights.store(first + 32U * static_cast<unsigned>(k) + lane, fast_weight(lse[row][k], m, g));
      }
    }
  }

  // All rows at once, each in kGroup lanes. The lanes that the full butterfly adds besides hold -inf and ex2(-inf) =
  // +0, which change no bit of a maximum or of a sum. The maximum with -inf is what the empty slots 1.. of the run-time
  // kernel make of a NaN.
  LSECHECK_DEVICE void store_grouped(const SharedArray<float>& weights, unsigned first) const {
    const float mine = lse[0][0];
    float m = max_non_nan(mine, negative_infinity());
    LSECHECK_UNROLL
    for (unsigned offset = kGroup / 2; offset > 0; offset /= 2) m = max_non_nan(m, shuffle_xor(m, offset));
    float s = ex2_approx_ftz(mine - m);
    LSECHECK_UNROLL
    for (unsigned offset = kGroup / 2; offset > 0; offset /= 2) s = s + shuffle_xor(s, offset);
    const float g = lg2_approx(s) + m;
    weights.store(first + (lane / kGroup) * kFastWeightStride + lane % kGroup, fast_weight(mine, m, g));
  }
};

template <class Out, class Partial, int kDepth, int kLoadBytes>
LSECHECK_KERNEL void LSECHECK_LAUNCH_BOUNDS((FastSplit<Partial, kDepth, kLoadBytes>::kThreads))
    fa4_splitk_combine_fast(const float* lse_partial, const Partial* o_partial, Out* output, int num_partitions,
                            unsigned num_rows_q, unsigned num_q_heads) {
  using Split = FastSplit<Partial, kDepth, kLoadBytes>;
  using PartialVector = Vector<Partial, Split::kWidth>;
  constexpr int kBatch = Split::kBatch;
  constexpr int kStages = Split::kStages;
  constexpr unsigned kRowsPerWarp = Split::kRowsPerWarp;
  LSECHECK_SHARED_ARRAY(PartialVector, ring, kStages * kBatch * Split::kThreads);
  LSECHECK_SHARED_ARRAY(float, weights, Split::kWarps* kRowsPerWarp* kFastWeightStride);

  grid_dependency_wait();
  const unsigned rows_heads = num_rows_q * num_q_heads;
  const unsigned thread = threadIdx.x;
  const unsigned lane = thread % 32;
  const unsigned warp = thread / 32;
  const unsigned grid_warp = blockIdx.x * Split::kWarps + warp;
  const unsigned first_row = kRowsPerWarp * (grid_warp / Split::kWarpsPerRow);
  if (first_row >= rows_heads) return;
  const unsigned row_of_warp = lane / (32 / kRowsPerWarp);
  // Lanes past the last row follow it and store nothing.
  const bool stores = first_row + row_of_warp < rows_heads;
  const unsigned row_head = stores ? first_row + row_of_warp : rows_heads - 1;
  const unsigned lane_of_row =
      kRowsPerWarp > 1 ? lane % Split::kLanesPerRow : 32 * (grid_warp % Split::kWarpsPerRow) + lane;
  const unsigned column = lane_of_row * Split::kWidth;

  FastRows<kRowsPerWarp> rows{lse_partial, num_partitions, first_row, rows_heads, lane, {}};

  // Copies batch after batch; to_copy is the next partition.
  const std::size_t partition_stride = static_cast<std::size_t>(rows_heads) * kDepth;
  const Partial* from = o_partial + static_cast<std::size_t>(row_head) * kDepth + column;
  int to_copy = 0;
  const auto copy_batch = [&](unsigned stage) {
    LSECHECK_UNROLL
    for (unsigned j = 0; j < kBatch; ++j) {
      if (to_copy < num_partitions) {
        ring.copy_async((stage * kBatch + j) * Split::kThreads + thread, reinterpret_cast<const PartialVector*>(from));
      }
      from += partition_stride;
      ++to_copy;
    }
    async_commit();
  };
  LSECHECK_UNROLL
  for (unsigned stage = 0; stage < kStages - 1; ++stage) copy_batch(stage);

  rows.load();
  const unsigned first_weight = warp * kRowsPerWarp * kFastWeightStride;
  rows.store_weights(weights, first_weight);
  warp_barrier();

  const unsigned my_weights = first_weight + row_of_warp * kFastWeightStride;
  float acc[Split::kWidth] = {};
  const auto fold = [&](float weight, const PartialVector& o) {
    LSECHECK_UNROLL
    for (int i = 0; i < Split::kWidth; ++i) acc[i] = fa4_fold(weight, to_f32(o.element[i]), acc[i]);
  };
  unsigned stage = 0;
  unsigned refilled = kStages - 1;
  for (int base = 0; base < num_partitions; base += kBatch) {
    async_wait<kStages - 2>();
    copy_batch(refilled);  // over the batch that the previous turn folded
    if (++refilled == kStages) refilled = 0;
    const unsigned slot = stage * kBatch * Split::kThreads + thread;
    if (++stage == kStages) stage = 0;
    const unsigned weight_at = my_weights + static_cast<unsigned>(base);
    if (base + kBatch <= num_partitions) {
      PartialVector o[kBatch];
      float weight[kBatch];
      LSECHECK_UNROLL
      for (unsigned j = 0; j < kBatch; ++j) {
        o[j] = ring.load(slot + j * Split::kThreads);
        weight[j] = weights.load(weight_at + j);
      }
      LSECHECK_UNROLL
      for (int j = 0; j < kBatch; ++j) fold(weight[j], o[j]);
    } else {
      LSECHECK_UNROLL
      for (unsigned j = 0; j < kBatch; ++j) {
        if (base + static_cast<int>(j) < num_partitions) {
          fold(weights.load(weight_at + j), ring.load(slot + j * Split::kThreads));
        }
      }
    }
  }

  if (!stores) return;
  using OutVector = Vector<Out, Split::kWidth>;
  OutVector result;
  LSECHECK_UNROLL
  for (int i = 0; i < Split::kWidth; ++i) result.element[i] = round_from_f32<Out>(acc[i]);
  store_global(reinterpret_cast<OutVector*>(output + static_cast<std::size_t>(row_head) * kDepth + column), result);
}

}  // namespace lsecheck::sm100
