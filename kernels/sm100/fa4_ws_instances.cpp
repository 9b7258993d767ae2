#include "kernels/sm100/fa4_ws_instances.h"

#include <algorithm>

#include "kernels/sm100/fa4_ws_instantiate.h"

namespace lsecheck::sm100 {

const std::vector<Fa4WsInstance>& fa4_ws_instances() {
  static const std::vector<Fa4WsInstance> instances = [] {
    std::vector<Fa4WsInstance> all;
    append_fa4_ws_bf16(all);
    append_fa4_ws_f16(all);
    append_fa4_ws_f32(all);
    return all;
  }();
  return instances;
}

const Fa4WsInstance* find_fa4_ws_instance(Fa4WsLevel level, DType out, int ov_depth, int m_pack, int num_partitions) {
  const auto& all = fa4_ws_instances();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Fa4WsInstance& instance) {
    return instance.level == level && instance.out == out && instance.ov_depth == ov_depth &&
           instance.m_pack == m_pack && instance.num_partitions == num_partitions;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lsecheck::sm100
