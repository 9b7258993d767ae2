#pragma once

#include "kernels/ptx_float.h"
#include "kernels/target.cuh"

// What the two MLA decode combines share: where a (sequence, query position, head) lies, and how a depth is spread over
// lanes.
namespace lsecheck::sm100 {

// The launch as its threads see it. The workspace is [S, batch, seq, heads(, D)]. Dense: row_offsets is null and the
// output row of (b, q) is b * seq + q. Ragged: row_offsets [batch + 1]: sequence b has row_offsets[b + 1] -
// row_offsets[b] positions, at most seq, and the output row is row_offsets[b] + q.
struct MlaGeometry {
  unsigned batch_size;
  unsigned seq_len;
  unsigned num_heads;
  const std::uint32_t* row_offsets;
};

LSECHECK_DEVICE bool mla_past_end(const MlaGeometry& geometry, unsigned batch, unsigned seq_idx) {
  if (geometry.row_offsets == nullptr) return false;
  return seq_idx >= load_global(geometry.row_offsets + batch + 1) - load_global(geometry.row_offsets + batch);
}

// Index of (split, batch, seq_idx, head) in [S, batch, seq, heads].
LSECHECK_DEVICE std::size_t mla_workspace_index(const MlaGeometry& geometry, unsigned split, unsigned batch,
                                                unsigned seq_idx, unsigned head) {
  const std::size_t row = (static_cast<std::size_t>(split) * geometry.batch_size + batch) * geometry.seq_len + seq_idx;
  return row * geometry.num_heads + head;
}

// Index of (row, head) in the output [rows, heads].
LSECHECK_DEVICE std::size_t mla_output_index(const MlaGeometry& geometry, unsigned batch, unsigned seq_idx,
                                             unsigned head) {
  const std::size_t first_row = geometry.row_offsets == nullptr ? static_cast<std::size_t>(batch) * geometry.seq_len
                                                                : load_global(geometry.row_offsets + batch);
  return (first_row + seq_idx) * geometry.num_heads + head;
}

// kDepth elements over kLanes lanes: whole vectors of at most 8 elements and 16 bytes, chunk c of lane l at (c * kLanes
// + l) * kWidth.
template <class T, int kDepth, int kLanes>
struct MlaDepthSplit {
  static constexpr int kPerLane = kDepth / kLanes;
  static constexpr int kWidest = 16 / static_cast<int>(sizeof(T));
  static constexpr int kWidth = kPerLane < kWidest ? kPerLane : kWidest;
  static constexpr int kChunks = kPerLane / kWidth;
  static_assert(kDepth % kLanes == 0 && kPerLane % kWidth == 0 && (kWidth & (kWidth - 1)) == 0,
                "the head dimension must split into whole vectors");
  using PartialVector = Vector<T, kWidth>;
};

}  // namespace lsecheck::sm100
