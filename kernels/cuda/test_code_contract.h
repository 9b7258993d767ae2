#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "kernels/cuda/fa4_entry.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/cuda/mha_entry.h"
#include "kernels/cuda/mla_entry.h"

// What the audit of the compiled kernels expects: counts of instructions that follow from an entry's parameters alone.
namespace lsecheck::cuda {

// Operations on f32 that flush subnormals.
struct FlushingCounts {
  int products = 0;  // mul.rn.ftz
  int fused = 0;     // fma.rn.ftz
  int maxima = 0;    // max.ftz
};

// What the code of one kernel must look like.
struct Contract {
  int ex2 = 0;  // special-function instructions and divisions
  int lg2 = 0;
  int divisions = 0;
  int reciprocals = 0;                  // rcp.approx.ftz
  int copies_of_ex2 = 1;                // the compiler may write the exponentials out again, that many times in all
  FlushingCounts flushing;              // operations that the contract names .ftz
  int tensor_moves = 0;                 // tcgen05.ld, and as many tcgen05.st, on the chips that have tensor memory
  bool waits = true;                    // for the kernel before it
  int warp_reductions = 1;              // a maximum and a sum over the whole warp
  int group_butterflies = 0;            // further butterfly steps, over parts of a warp
  bool is_loop = false;                 // over partitions: the compiler unrolls as it likes, counts are at least these
  bool may_use_local = false;           // a slot index that is not known at compile time
  int load_bytes = 0;                   // of one access to the partials
  int loads = 0;                        // of that size
  std::optional<int> fused_multiplies;  // fma: those of the contract, and none that the compiler made
};

inline constexpr int kSlotWidth = 32;

inline Contract contract_of(const sm100::Fa4Entry& entry) {
  Contract contract;
  // Two exponentials per slot: the sum's and the weight's.
  contract.ex2 = 2 * (((entry.p_static > 0 ? entry.p_static : 160) + kSlotWidth - 1) / kSlotWidth);
  contract.lg2 = 1;
  contract.may_use_local = entry.p_static == 0;
  const bool vectors = entry.ov_depth % 64 == 0 && (entry.ov_depth & (entry.ov_depth - 1)) == 0;
  if (entry.p_static == 0 || !vectors) return contract;
  const int element = static_cast<int>(size_of(entry.partial));
  contract.load_bytes = std::min(entry.ov_depth / 32 * element, 16);
  contract.loads = entry.p_static * (entry.ov_depth * element / (32 * contract.load_bytes));
  contract.fused_multiplies = entry.p_static * entry.ov_depth / 32;
  return contract;
}

// O goes to shared memory by asynchronous copies; the weights are written out for every row of a warp and, where a warp
// has several rows, for all of them at once besides.
inline Contract contract_of(const sm100::Fa4FastEntry& entry) {
  const int lanes_per_row = entry.ov_depth * static_cast<int>(size_of(entry.partial)) / entry.load_bytes;
  const int rows = std::max(32 / lanes_per_row, 1);
  const int slots = 160 / kSlotWidth;
  const bool grouped = rows > 1;
  Contract contract;
  contract.is_loop = true;
  contract.ex2 = rows * 2 * slots + (grouped ? 2 : 0);
  contract.lg2 = rows + (grouped ? 1 : 0);
  contract.warp_reductions = rows;
  for (int lanes = 32 / rows; grouped && lanes > 1; lanes /= 2) contract.group_butterflies += 2;
  return contract;
}

inline Contract contract_of(const sm100::MlaEntry& entry) {
  const int element = static_cast<int>(size_of(entry.type));
  const bool split_parallel = entry.warps_per_head == sm100::kSplitParallelInstance;
  const int per_lane = entry.head_dim / (32 * (split_parallel ? 1 : entry.warps_per_head));
  Contract contract;
  contract.load_bytes = std::min(per_lane * element, 16);
  const int loads_per_split = per_lane * element / contract.load_bytes;
  if (split_parallel) {
    contract.ex2 = 2 + 3 * 2 + 1;  // a split's, those of three merges, the sink's
    contract.divisions = 1;
    contract.warp_reductions = 0;
    contract.is_loop = true;
    contract.loads = loads_per_split;
    return contract;
  }
  contract.ex2 = 2 * ((entry.num_splits + kSlotWidth - 1) / kSlotWidth) + 1;  // and the sink's
  contract.lg2 = 2;
  contract.loads = entry.num_splits * loads_per_split;
  contract.fused_multiplies = entry.num_splits * per_lane;
  return contract;
}

// The fold is a loop over P; its sums are compensated, which no fused operation may undo.
inline Contract contract_of(const sm100::MhaEntry& entry) {
  int width = 1;
  while (width < (entry.ov_depth + kSlotWidth - 1) / kSlotWidth) width *= 2;
  const int bytes = width * static_cast<int>(size_of(entry.partial));
  Contract contract;
  contract.is_loop = true;
  contract.ex2 = 1;
  contract.divisions = 1;
  contract.waits = false;
  contract.fused_multiplies = 0;
  contract.load_bytes = std::min(bytes, 16);
  contract.loads = bytes / contract.load_bytes;
  return contract;
}

// Everything is unrolled but the depth tiles of level 2. Level 1 stands there once per warpgroup that takes part in it,
// level 2 once.
inline Contract contract_of(const sm100::Fa4WsEntry& entry) {
  using sm100::Fa4WsLevel;
  const int first_levels = entry.level == Fa4WsLevel::level2 ? 0 : entry.level == Fa4WsLevel::two_level ? 2 : 1;
  const bool second_level = entry.level == Fa4WsLevel::two_level || first_levels == 0;
  const int peers = second_level && entry.num_partitions > 1 ? 1 : 0;  // that level 2 meets
  const int normalised = entry.level == Fa4WsLevel::level1 ? 0 : 1;
  const int band = entry.ov_depth / entry.m_pack;  // of level 1, all at once
  const int tile_band = std::min(band, 256 / entry.m_pack);
  Contract contract;
  contract.waits = false;
  contract.warp_reductions = 0;
  contract.ex2 = first_levels * entry.m_pack + 2 * peers;
  contract.copies_of_ex2 = 2;  // with the scale and without
  contract.reciprocals = normalised;
  // The first partition's values and the scaled exponents; level 2 also has a mass; the normalisation.
  contract.flushing.products =
      first_levels * (band + entry.m_pack) + peers * (tile_band + 2 + 1) + normalised * tile_band;
  contract.flushing.fused = first_levels * (entry.m_pack - 1) * band + peers * tile_band;
  contract.flushing.maxima = first_levels * (entry.m_pack - 1) + peers;
  contract.fused_multiplies = first_levels * entry.m_pack / 2 + peers;  // of the masses
  contract.tensor_moves = first_levels * entry.ov_depth / 16;
  contract.load_bytes = 16;
  contract.loads = (first_levels > 0 ? first_levels * entry.ov_depth : tile_band) / 4;
  return contract;
}

// By template_id.
inline const std::map<std::string, Contract>& contracts() {
  static const std::map<std::string, Contract> all = [] {
    std::map<std::string, Contract> result;
    for (const auto& entry : sm100::kFa4Entries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kFa4FastEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kMlaEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kMhaEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kFa4WsEntries) result[template_id(entry)] = contract_of(entry);
    return result;
  }();
  return all;
}

}  // namespace lsecheck::cuda
