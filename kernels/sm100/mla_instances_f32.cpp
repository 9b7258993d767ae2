#include "kernels/sm100/mla_instantiate.h"

namespace lsecheck::sm100 {

void append_mla_f32(std::vector<MlaInstance>& instances) {
  append_mla_type<float, DType::f32>(instances);
}

}  // namespace lsecheck::sm100
