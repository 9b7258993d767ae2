#include "kernels/sm100/fa4_instantiate.h"
#include "kernels/sm100/fa4_splitk_combine_fast.cuh"

namespace lsecheck::sm100 {

namespace {

template <class Out, class Partial, int kDepth, int kLoadBytes>
void thread_body(const Fa4Arguments& arguments) {
  fa4_splitk_combine_fast<Out, Partial, kDepth, kLoadBytes>(
      arguments.lse_partial, static_cast<const Partial*>(arguments.o_partial), static_cast<Out*>(arguments.output),
      arguments.num_partitions, arguments.num_rows_q, arguments.num_q_heads);
}

template <class Out, class Partial, int kDepth>
void append_one_depth(std::vector<Fa4Instance>& instances) {
  if constexpr (fa4_fast_in_table(kDepth)) {
    constexpr DType kOut = kDTypeOf<Out>;
    constexpr DType kPartial = kDTypeOf<Partial>;
    instances.push_back({kOut, kPartial, kDepth, 0, &thread_body<Out, Partial, kDepth, 16>, 16});
    instances.push_back({kOut, kPartial, kDepth, 0, &thread_body<Out, Partial, kDepth, 4>, 4});
  }
}

template <class Out, class Partial, std::size_t... kIndex>
void append_depths(std::vector<Fa4Instance>& instances, std::index_sequence<kIndex...>) {
  (append_one_depth<Out, Partial, kFa4Depths[kIndex]>(instances), ...);
}

template <class Out, class Partial>
void append_pair(std::vector<Fa4Instance>& instances) {
  append_depths<Out, Partial>(instances, std::make_index_sequence<kFa4Depths.size()>{});
}

}  // namespace

void append_fast(std::vector<Fa4Instance>& instances) {
  append_pair<bf16, bf16>(instances);
  append_pair<bf16, float>(instances);
  append_pair<f16, f16>(instances);
  append_pair<f16, float>(instances);
  append_pair<float, float>(instances);
}

// Blocks and threads of each kernel: fa4_splitk_combine_fast.cuh.
namespace {

std::uint64_t fast_warps(DType partial, int ov_depth, int load_bytes, std::uint64_t rows_heads) {
  const auto row_bytes = static_cast<std::uint64_t>(ov_depth) * size_of(partial);
  const std::uint64_t lanes = rows_heads * (row_bytes / static_cast<std::uint64_t>(load_bytes));
  return (lanes + 31) / 32;
}

}  // namespace

bool fa4_fast_fits(DType partial, int ov_depth, int load_bytes, std::uint64_t rows_heads) {
  return fast_warps(partial, ov_depth, load_bytes, rows_heads) <= 0x7fffffffU;
}

Fa4Grid fa4_grid(DType partial, int ov_depth, int load_bytes, std::uint64_t rows_heads) {
  if (load_bytes == 0) return {static_cast<std::uint32_t>(rows_heads), 32};
  const std::uint32_t warps =
      fast_warps_per_block(static_cast<unsigned>(ov_depth) * static_cast<unsigned>(size_of(partial)), load_bytes);
  return {static_cast<std::uint32_t>((fast_warps(partial, ov_depth, load_bytes, rows_heads) + warps - 1) / warps),
          32 * warps};
}

}  // namespace lsecheck::sm100
