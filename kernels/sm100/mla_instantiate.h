#pragma once

#include <utility>

#include "kernels/sm100/mla_combine.cuh"
#include "kernels/sm100/mla_combine_split_parallel.cuh"
#include "kernels/sm100/mla_instances.h"
#include "kernels/sm100/mla_instantiation_table.h"

// Turns the table into code for one type; each type has its own source file so that they compile in parallel.
namespace lsecheck::sm100 {

void append_mla_bf16(std::vector<MlaInstance>& instances);
void append_mla_f16(std::vector<MlaInstance>& instances);
void append_mla_f32(std::vector<MlaInstance>& instances);

template <class T, int kHeadDim, int kNumSplits, int kWarpsPerHead>
void mla_thread_body(const MlaArguments& arguments) {
  const auto* const o_partial = static_cast<const T*>(arguments.o_partial);
  auto* const output = static_cast<T*>(arguments.output);
  if constexpr (kWarpsPerHead == kSplitParallelInstance) {
    mla_combine_split_parallel<T, kHeadDim, kNumSplits>(arguments.lse_partial, o_partial, output,
                                                        arguments.attention_sink, arguments.geometry);
  } else {
    mla_combine<T, kHeadDim, kNumSplits, kWarpsPerHead>(arguments.lse_partial, o_partial, output,
                                                        arguments.attention_sink, arguments.geometry);
  }
}

template <class T, DType kType, int kHeadDim, int kNumSplits, std::size_t... kIndex>
void append_mla_splits(std::vector<MlaInstance>& instances, std::index_sequence<kIndex...>) {
  if constexpr (mla_in_table(kType, kHeadDim, kNumSplits)) {
    instances.push_back({kType, kHeadDim, kNumSplits, kSplitParallelInstance,
                         &mla_thread_body<T, kHeadDim, kNumSplits, kSplitParallelInstance>});
    (instances.push_back({kType, kHeadDim, kNumSplits, kMlaWarpsPerHead[kIndex],
                          &mla_thread_body<T, kHeadDim, kNumSplits, kMlaWarpsPerHead[kIndex]>}),
     ...);
  }
}

template <class T, DType kType, int kHeadDim, std::size_t... kIndex>
void append_mla_head_dim(std::vector<MlaInstance>& instances, std::index_sequence<kIndex...>) {
  (append_mla_splits<T, kType, kHeadDim, kMlaSplits[kIndex]>(instances,
                                                             std::make_index_sequence<kMlaWarpsPerHead.size()>{}),
   ...);
}

template <class T, DType kType, std::size_t... kIndex>
void append_mla_type(std::vector<MlaInstance>& instances, std::index_sequence<kIndex...>) {
  (append_mla_head_dim<T, kType, kMlaHeadDims[kIndex]>(instances, std::make_index_sequence<kMlaSplits.size()>{}), ...);
}

template <class T, DType kType>
void append_mla_type(std::vector<MlaInstance>& instances) {
  append_mla_type<T, kType>(instances, std::make_index_sequence<kMlaHeadDims.size()>{});
}

}  // namespace lsecheck::sm100
