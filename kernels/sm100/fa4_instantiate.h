#pragma once

#include <utility>

#include "kernels/sm100/fa4_instances.h"
#include "kernels/sm100/fa4_instantiation_table.h"
#include "kernels/sm100/fa4_splitk_combine.cuh"

// Turns the table into code for one pair of types; each pair has its own source file so that they compile in parallel.
namespace lsecheck::sm100 {

void append_bf16_bf16(std::vector<Fa4Instance>& instances);
void append_bf16_f32(std::vector<Fa4Instance>& instances);
void append_f16_f16(std::vector<Fa4Instance>& instances);
void append_f16_f32(std::vector<Fa4Instance>& instances);
void append_f32_f32(std::vector<Fa4Instance>& instances);
void append_fast(std::vector<Fa4Instance>& instances);

template <class T>
inline constexpr DType kDTypeOf = DType::f32;
template <>
inline constexpr DType kDTypeOf<bf16> = DType::bf16;
template <>
inline constexpr DType kDTypeOf<f16> = DType::f16;

template <class Out, class Partial, int kDepth, int kPStatic>
void fa4_thread_body(const Fa4Arguments& arguments) {
  fa4_splitk_combine<Out, Partial, kDepth, kPStatic>(
      arguments.lse_partial, static_cast<const Partial*>(arguments.o_partial), static_cast<Out*>(arguments.output),
      arguments.num_partitions, arguments.num_rows_q, arguments.num_q_heads);
}

template <class Out, class Partial, int kDepth, std::size_t... kIndex>
void append_depth(std::vector<Fa4Instance>& instances, std::index_sequence<kIndex...>) {
  const auto append_one = [&instances]<int kPStatic>(std::integral_constant<int, kPStatic>) {
    if constexpr (fa4_in_table(kDTypeOf<Out>, kDTypeOf<Partial>, kDepth, kPStatic)) {
      instances.push_back(
          {kDTypeOf<Out>, kDTypeOf<Partial>, kDepth, kPStatic, &fa4_thread_body<Out, Partial, kDepth, kPStatic>});
    }
  };
  (append_one(std::integral_constant<int, kFa4PStatics[kIndex]>{}), ...);
}

template <class Out, class Partial, std::size_t... kIndex>
void append_types(std::vector<Fa4Instance>& instances, std::index_sequence<kIndex...>) {
  (append_depth<Out, Partial, kFa4Depths[kIndex]>(instances, std::make_index_sequence<kFa4PStatics.size()>{}), ...);
}

template <class Out, class Partial>
void append_types(std::vector<Fa4Instance>& instances) {
  append_types<Out, Partial>(instances, std::make_index_sequence<kFa4Depths.size()>{});
}

}  // namespace lsecheck::sm100
