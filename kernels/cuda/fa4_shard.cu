#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/element_type.h"
#include "kernels/cuda/fa4_entry.h"
#include "kernels/sm100/fa4_splitk_combine.cuh"

// Shard LSECHECK_SHARD of LSECHECK_SHARDS of the FA4 combine.
namespace lsecheck::cuda {

namespace {

struct Fa4Function {
  template <std::size_t kEntry>
  static const void* of() {
    constexpr sm100::Fa4Entry entry = sm100::kFa4Entries[kEntry];
    return reinterpret_cast<const void*>(
        &sm100::fa4_splitk_combine<ElementOf<entry.out>, ElementOf<entry.partial>, entry.ov_depth, entry.p_static>);
  }
};

}  // namespace

template <>
void append_shard<sm100::Fa4Table, LSECHECK_SHARD>(std::vector<CompiledKernel>& kernels) {
  append_entries<sm100::Fa4Table, Fa4Function, LSECHECK_SHARD, LSECHECK_SHARDS>(kernels);
}

}  // namespace lsecheck::cuda
