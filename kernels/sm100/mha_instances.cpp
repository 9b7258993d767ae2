#include "kernels/sm100/mha_instances.h"

#include <algorithm>
#include <utility>

#include "kernels/sm100/mha_instantiation_table.h"
#include "kernels/sm100/mha_splitk_reduce.cuh"

namespace lsecheck::sm100 {

namespace {

template <class Out, class Partial, int kDepth, bool kNatural>
void thread_body(const MhaArguments& arguments) {
  mha_splitk_reduce<Out, Partial, kDepth, kNatural>(
      arguments.qk_max, arguments.exp_sum, static_cast<const Partial*>(arguments.o_partial),
      static_cast<Out*>(arguments.output), arguments.num_partitions, arguments.num_rows, arguments.num_heads);
}

template <class Out, class Partial, std::size_t... kIndex>
void append_depths(std::vector<MhaInstance>& instances, DType out, DType partial, std::index_sequence<kIndex...>) {
  (instances.push_back(
       {out, partial, kMhaDepths[kIndex], false, &thread_body<Out, Partial, kMhaDepths[kIndex], false>}),
   ...);
  (instances.push_back({out, partial, kMhaDepths[kIndex], true, &thread_body<Out, Partial, kMhaDepths[kIndex], true>}),
   ...);
}

template <class Out, class Partial>
void append_types(std::vector<MhaInstance>& instances, DType out, DType partial) {
  append_depths<Out, Partial>(instances, out, partial, std::make_index_sequence<kMhaDepths.size()>{});
}

}  // namespace

const std::vector<MhaInstance>& mha_instances() {
  static const std::vector<MhaInstance> instances = [] {
    std::vector<MhaInstance> all;
    append_types<bf16, bf16>(all, DType::bf16, DType::bf16);
    append_types<bf16, float>(all, DType::bf16, DType::f32);
    append_types<f16, f16>(all, DType::f16, DType::f16);
    append_types<f16, float>(all, DType::f16, DType::f32);
    append_types<float, float>(all, DType::f32, DType::f32);
    return all;
  }();
  return instances;
}

const MhaInstance* find_mha_instance(DType out, DType partial, int ov_depth, bool natural) {
  const auto& all = mha_instances();
  const auto found = std::find_if(all.begin(), all.end(), [&](const MhaInstance& instance) {
    return instance.out == out && instance.partial == partial && instance.ov_depth == ov_depth &&
           instance.natural == natural;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lsecheck::sm100
