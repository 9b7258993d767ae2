#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/element_type.h"
#include "kernels/cuda/mla_entry.h"
#include "kernels/sm100/mla_combine.cuh"
#include "kernels/sm100/mla_combine_split_parallel.cuh"

// Shard LSECHECK_SHARD of LSECHECK_SHARDS of the MLA combines.
namespace lsecheck::cuda {

namespace {

struct MlaFunction {
  template <std::size_t kEntry>
  static const void* of() {
    constexpr sm100::MlaEntry entry = sm100::kMlaEntries[kEntry];
    using Element = ElementOf<entry.type>;
    if constexpr (entry.warps_per_head == sm100::kSplitParallelInstance) {
      return reinterpret_cast<const void*>(
          &sm100::mla_combine_split_parallel<Element, entry.head_dim, entry.num_splits>);
    } else {
      return reinterpret_cast<const void*>(
          &sm100::mla_combine<Element, entry.head_dim, entry.num_splits, entry.warps_per_head>);
    }
  }
};

}  // namespace

template <>
void append_shard<sm100::MlaTable, LSECHECK_SHARD>(std::vector<CompiledKernel>& kernels) {
  append_entries<sm100::MlaTable, MlaFunction, LSECHECK_SHARD, LSECHECK_SHARDS>(kernels);
}

}  // namespace lsecheck::cuda
