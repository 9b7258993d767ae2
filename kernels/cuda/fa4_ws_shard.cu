#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/element_type.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/sm100/fa4_ws_kernels.cuh"

// Shard LSECHECK_SHARD of LSECHECK_SHARDS of the in-CTA combine levels.
namespace lsecheck::cuda {

namespace {

struct Fa4WsFunction {
  template <std::size_t kEntry>
  static const void* of() {
    constexpr sm100::Fa4WsEntry entry = sm100::kFa4WsEntries[kEntry];
    using Tile = sm100::Fa4WsTile<entry.m_pack, entry.ov_depth>;
    using Out = ElementOf<entry.out>;
    if constexpr (entry.level == sm100::Fa4WsLevel::intracta) {
      return reinterpret_cast<const void*>(&sm100::fa4_ws_intracta_kernel<Tile, Out>);
    } else if constexpr (entry.level == sm100::Fa4WsLevel::level1) {
      return reinterpret_cast<const void*>(&sm100::fa4_ws_level1_kernel<Tile>);
    } else if constexpr (entry.level == sm100::Fa4WsLevel::level2) {
      return reinterpret_cast<const void*>(&sm100::fa4_ws_level2_kernel<Tile, Out, entry.num_partitions == 1>);
    } else {
      return reinterpret_cast<const void*>(&sm100::fa4_ws_two_level_kernel<Tile, Out>);
    }
  }
};

}  // namespace

template <>
void append_shard<sm100::Fa4WsTable, LSECHECK_SHARD>(std::vector<CompiledKernel>& kernels) {
  append_entries<sm100::Fa4WsTable, Fa4WsFunction, LSECHECK_SHARD, LSECHECK_SHARDS>(kernels);
}

}  // namespace lsecheck::cuda
