#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/element_type.h"
#include "kernels/cuda/fa4_entry.h"
#include "kernels/sm100/fa4_splitk_combine_fast.cuh"

// Shard LSECHECK_SHARD of LSECHECK_SHARDS of the faster FA4 combine.
namespace lsecheck::cuda {

namespace {

struct Fa4FastFunction {
  template <std::size_t kEntry>
  static const void* of() {
    constexpr sm100::Fa4FastEntry entry = sm100::kFa4FastEntries[kEntry];
    return reinterpret_cast<const void*>(&sm100::fa4_splitk_combine_fast<ElementOf<entry.out>, ElementOf<entry.partial>,
                                                                         entry.ov_depth, entry.load_bytes>);
  }
};

}  // namespace

template <>
void append_shard<sm100::Fa4FastTable, LSECHECK_SHARD>(std::vector<CompiledKernel>& kernels) {
  append_entries<sm100::Fa4FastTable, Fa4FastFunction, LSECHECK_SHARD, LSECHECK_SHARDS>(kernels);
}

}  // namespace lsecheck::cuda
