#pragma once

#include <utility>

#include "kernels/sm100/fa4_ws_instances.h"
#include "kernels/sm100/fa4_ws_kernels.cuh"

// Turns the table into code for one output type; each type has its own source file so that they compile in parallel.
namespace lsecheck::sm100 {

void append_fa4_ws_bf16(std::vector<Fa4WsInstance>& instances);
void append_fa4_ws_f16(std::vector<Fa4WsInstance>& instances);
void append_fa4_ws_f32(std::vector<Fa4WsInstance>& instances);

template <class Tile, class Out, Fa4WsLevel kLevel, int kNumPartitions>
void fa4_ws_thread_body(const Fa4WsArguments& arguments) {
  const Fa4WsInputs inputs = {arguments.max_partial,
                              arguments.mass_partial,
                              arguments.o_partial,
                              arguments.rows_heads,
                              {arguments.use_fma, arguments.scale_log2e}};
  auto* const output = static_cast<Out*>(arguments.output);
  if constexpr (kLevel == Fa4WsLevel::intracta) fa4_ws_intracta_kernel<Tile>(inputs, output);
  if constexpr (kLevel == Fa4WsLevel::level1) fa4_ws_level1_kernel<Tile>(inputs, output);
  if constexpr (kLevel == Fa4WsLevel::level2) fa4_ws_level2_kernel<Tile, Out, kNumPartitions == 1>(inputs, output);
  if constexpr (kLevel == Fa4WsLevel::two_level) fa4_ws_two_level_kernel<Tile>(inputs, output);
}

template <class Out, DType kOut, Fa4WsLevel kLevel, int kDepth, int kMPack, int kNumPartitions>
void append_fa4_ws_instance(std::vector<Fa4WsInstance>& instances) {
  if constexpr (fa4_ws_in_table(kLevel, kOut, kDepth, kMPack, kNumPartitions)) {
    using Tile = Fa4WsTile<kMPack, kDepth>;
    constexpr bool kTwoWarpgroups =
        kLevel == Fa4WsLevel::two_level || (kLevel == Fa4WsLevel::level2 && kNumPartitions == 2);
    constexpr unsigned kStaging = kLevel == Fa4WsLevel::level2 ? 0 : kTwoWarpgroups ? 2 : 1;
    instances.push_back({kLevel, kOut, kDepth, kMPack, kNumPartitions,
                         kTwoWarpgroups ? 2 * kWarpgroupThreads : kWarpgroupThreads, Tile::kRows,
                         Fa4WsCarve<Tile, Out, kStaging, kTwoWarpgroups>::kBytes,
                         &fa4_ws_thread_body<Tile, Out, kLevel, kNumPartitions>});
  }
}

template <class Out, DType kOut, Fa4WsLevel kLevel, int kDepth, int kMPack, std::size_t... kIndex>
void append_fa4_ws_tile(std::vector<Fa4WsInstance>& instances, std::index_sequence<kIndex...>) {
  (append_fa4_ws_instance<Out, kOut, kLevel, kDepth, kMPack, kFa4WsPartitions[kIndex]>(instances), ...);
}

template <class Out, DType kOut, Fa4WsLevel kLevel, std::size_t... kIndex>
void append_fa4_ws_level(std::vector<Fa4WsInstance>& instances, std::index_sequence<kIndex...>) {
  constexpr auto kPartitions = std::make_index_sequence<kFa4WsPartitions.size()>{};
  (append_fa4_ws_tile<Out, kOut, kLevel, kFa4WsDepths[kIndex], kFa4WsMPacks[0]>(instances, kPartitions), ...);
  (append_fa4_ws_tile<Out, kOut, kLevel, kFa4WsDepths[kIndex], kFa4WsMPacks[1]>(instances, kPartitions), ...);
}

template <class Out, DType kOut>
void append_fa4_ws_type(std::vector<Fa4WsInstance>& instances) {
  constexpr auto kDepths = std::make_index_sequence<kFa4WsDepths.size()>{};
  append_fa4_ws_level<Out, kOut, Fa4WsLevel::intracta>(instances, kDepths);
  append_fa4_ws_level<Out, kOut, Fa4WsLevel::level1>(instances, kDepths);
  append_fa4_ws_level<Out, kOut, Fa4WsLevel::level2>(instances, kDepths);
  append_fa4_ws_level<Out, kOut, Fa4WsLevel::two_level>(instances, kDepths);
}

}  // namespace lsecheck::sm100
