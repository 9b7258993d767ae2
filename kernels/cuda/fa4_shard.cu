#include <utility>

#include "kernels/cuda/fa4_shard.h"
#include "kernels/sm100/fa4_splitk_combine.cuh"

// One of the LSECHECK_FA4_SHARDS parts of the instantiation table (LSECHECK_FA4_SHARD says which).
namespace lsecheck::cuda {

namespace {

template <DType type>
struct Storage {
  using Element = float;
};
template <>
struct Storage<DType::bf16> {
  using Element = bf16;
};
template <>
struct Storage<DType::f16> {
  using Element = f16;
};

template <std::size_t kEntry>
const void* function_of() {
  constexpr sm100::Fa4Entry entry = sm100::kFa4Entries[kEntry];
  return reinterpret_cast<const void*>(
      &sm100::fa4_splitk_combine<typename Storage<entry.out>::Element, typename Storage<entry.partial>::Element,
                                 entry.ov_depth, entry.p_static>);
}

constexpr std::size_t kFirst = LSECHECK_FA4_SHARD;
constexpr std::size_t kStride = LSECHECK_FA4_SHARDS;
constexpr std::size_t kCount = (sm100::kFa4Entries.size() - kFirst + kStride - 1) / kStride;

template <std::size_t... kIndex>
void append(std::vector<Fa4Kernel>& kernels, std::index_sequence<kIndex...>) {
  (kernels.push_back({kFirst + kIndex * kStride, function_of<kFirst + kIndex * kStride>()}), ...);
}

}  // namespace

template <>
void append_fa4_shard<LSECHECK_FA4_SHARD>(std::vector<Fa4Kernel>& kernels) {
  append(kernels, std::make_index_sequence<kCount>{});
}

}  // namespace lsecheck::cuda
