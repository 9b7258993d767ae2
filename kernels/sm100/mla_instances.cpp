#include "kernels/sm100/mla_instances.h"

#include <algorithm>

#include "kernels/sm100/mla_instantiate.h"

namespace lsecheck::sm100 {

const std::vector<MlaInstance>& mla_instances() {
  static const std::vector<MlaInstance> instances = [] {
    std::vector<MlaInstance> all;
    append_mla_bf16(all);
    append_mla_f16(all);
    append_mla_f32(all);
    return all;
  }();
  return instances;
}

const MlaInstance* find_mla_instance(DType type, int head_dim, int num_splits, int warps_per_head) {
  const auto& all = mla_instances();
  const auto found = std::find_if(all.begin(), all.end(), [&](const MlaInstance& instance) {
    return instance.type == type && instance.head_dim == head_dim && instance.num_splits == num_splits &&
           instance.warps_per_head == warps_per_head;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lsecheck::sm100
