#pragma once

#include "kernels/ptx_float.h"
#include "kernels/target.cuh"

// Where the levels of the in-CTA combine keep what they exchange: one tile of rows, kMPack threads to a row.
//
// A warpgroup of 128 threads holds kMPack partitions of kRows rows: thread t has the accumulator of partition g = t /
// kRows, row r = t % kRows, which is lane t of tensor memory, ov_depth columns wide. A warp has one g. Every window is
// block-major in blocks of 16 bytes, without padding, so that the threads of a warp touch consecutive blocks.
namespace lsecheck::sm100 {

inline constexpr unsigned kWarpgroupThreads = 128;

using StageBlock = Vector<float, 4>;
struct alignas(8) MaxSum {
  float m;  // reference exponent: raw score units, or log2 units where the scores were scaled before
  float l;  // mass at that reference
};

template <int kMPackOf, int kDepthOf>
struct Fa4WsTile {
  static constexpr unsigned kMPack = kMPackOf;
  static constexpr unsigned kDepth = kDepthOf;
  static constexpr unsigned kRows = kWarpgroupThreads / kMPack;
  // The depth band that the threads of a partition combine and write.
  static constexpr unsigned kOwnCols = kDepth / kMPack;
  // Level 2 takes the depth in tiles of at most 256 columns, a band of each tile per partition.
  static constexpr unsigned kBandCols = kOwnCols < 256 / kMPack ? kOwnCols : 256 / kMPack;
  static constexpr unsigned kDepthTiles = kOwnCols / kBandCols;
  static constexpr unsigned kTileCols = kMPack * kBandCols;

  static constexpr std::size_t kStageBlocks = std::size_t{kMPack} * kRows * kDepth / 4;
  static constexpr std::size_t kBandBlocks = std::size_t{kMPack} * kRows * kBandCols / 4;  // of one depth tile

  // Columns 4 * block to 4 * block + 3 of partition g's row r.
  LSECHECK_DEVICE static constexpr unsigned stage_block(unsigned g, unsigned r, unsigned block) {
    return (g * (kDepth / 4) + block) * kRows + r;
  }
  LSECHECK_DEVICE static constexpr unsigned max_sum_slot(unsigned g, unsigned r) { return g * kRows + r; }
  // Columns 4 * block to 4 * block + 3 of the band of partition g in a depth tile's own window.
  LSECHECK_DEVICE static constexpr unsigned band_block(unsigned g, unsigned r, unsigned block) {
    return (g * (kBandCols / 4) + block) * kRows + r;
  }
  // 16 bytes of output from column `block` * 16 / sizeof(out) on.
  LSECHECK_DEVICE static constexpr unsigned output_block(unsigned r, unsigned block) { return block * kRows + r; }
};

template <class Out>
using OutputBlock = Vector<Out, 16 / static_cast<int>(sizeof(Out))>;

// The order of the windows in the block's dynamic shared memory: stage0 | stage1 | maxsum0 | maxsum1 | l2_stage |
// l2_maxsum | o. kStagingWarpgroups take part in level 1 (0 to 2); kExchange: two warpgroups meet in level 2.
template <class Tile, class Out, unsigned kStagingWarpgroups, bool kExchange>
struct Fa4WsCarve {
  static constexpr std::size_t kStageBytes = Tile::kStageBlocks * sizeof(StageBlock);
  static constexpr std::size_t kMaxSumBytes = kWarpgroupThreads * sizeof(MaxSum);
  static constexpr std::size_t kBandBytes = Tile::kBandBlocks * sizeof(StageBlock);

  static constexpr std::size_t kMaxSumAt = kStagingWarpgroups * kStageBytes;
  static constexpr std::size_t kLevel2StageAt = kMaxSumAt + kStagingWarpgroups * kMaxSumBytes;
  static constexpr std::size_t kLevel2MaxSumAt = kLevel2StageAt + (kExchange ? Tile::kDepthTiles * kBandBytes : 0);
  static constexpr std::size_t kOutputAt = kLevel2MaxSumAt + (kExchange ? Tile::kRows * sizeof(MaxSum) : 0);
  static constexpr std::size_t kBytes = kOutputAt + std::size_t{Tile::kRows} * Tile::kDepth * sizeof(Out);

  LSECHECK_DEVICE static SharedWindow<StageBlock> stage(const DynamicShared& memory, unsigned warpgroup) {
    return {memory, warpgroup * kStageBytes, Tile::kStageBlocks};
  }
  LSECHECK_DEVICE static SharedWindow<MaxSum> max_sum(const DynamicShared& memory, unsigned warpgroup) {
    return {memory, kMaxSumAt + warpgroup * kMaxSumBytes, kWarpgroupThreads};
  }
  LSECHECK_DEVICE static SharedWindow<StageBlock> level2_stage(const DynamicShared& memory, unsigned depth_tile) {
    return {memory, kLevel2StageAt + depth_tile * kBandBytes, Tile::kBandBlocks};
  }
  LSECHECK_DEVICE static SharedWindow<MaxSum> level2_max_sum(const DynamicShared& memory) {
    return {memory, kLevel2MaxSumAt, Tile::kRows};
  }
  LSECHECK_DEVICE static SharedWindow<OutputBlock<Out>> output(const DynamicShared& memory) {
    return {memory, kOutputAt, std::size_t{Tile::kRows} * Tile::kDepth * sizeof(Out) / 16};
  }
};

}  // namespace lsecheck::sm100
