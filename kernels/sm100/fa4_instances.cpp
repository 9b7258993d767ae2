#include "kernels/sm100/fa4_instances.h"

#include <algorithm>

#include "kernels/sm100/fa4_instantiate.h"

namespace lsecheck::sm100 {

const std::vector<Fa4Instance>& fa4_instances() {
  static const std::vector<Fa4Instance> instances = [] {
    std::vector<Fa4Instance> all;
    append_bf16_bf16(all);
    append_bf16_f32(all);
    append_f16_f16(all);
    append_f16_f32(all);
    append_f32_f32(all);
    append_fast(all);
    return all;
  }();
  return instances;
}

const Fa4Instance* find_fa4_instance(DType out, DType partial, int ov_depth, int p_static, int load_bytes) {
  const auto& all = fa4_instances();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Fa4Instance& instance) {
    return instance.out == out && instance.partial == partial && instance.ov_depth == ov_depth &&
           instance.p_static == p_static && instance.load_bytes == load_bytes;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace lsecheck::sm100
