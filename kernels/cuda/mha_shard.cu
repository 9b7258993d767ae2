#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/element_type.h"
#include "kernels/cuda/mha_entry.h"
#include "kernels/sm100/mha_splitk_reduce.cuh"

// Shard LSECHECK_SHARD of LSECHECK_SHARDS of mha_splitk_reduce.
namespace lsecheck::cuda {

namespace {

struct MhaFunction {
  template <std::size_t kEntry>
  static const void* of() {
    constexpr sm100::MhaEntry entry = sm100::kMhaEntries[kEntry];
    return reinterpret_cast<const void*>(
        &sm100::mha_splitk_reduce<ElementOf<entry.out>, ElementOf<entry.partial>, entry.ov_depth, entry.natural>);
  }
};

}  // namespace

template <>
void append_shard<sm100::MhaTable, LSECHECK_SHARD>(std::vector<CompiledKernel>& kernels) {
  append_entries<sm100::MhaTable, MhaFunction, LSECHECK_SHARD, LSECHECK_SHARDS>(kernels);
}

}  // namespace lsecheck::cuda
