#include "kernels/sm100/fa4_ws_instantiate.h"

namespace lsecheck::sm100 {

void append_fa4_ws_f32(std::vector<Fa4WsInstance>& instances) {
  append_fa4_ws_type<float, DType::f32>(instances);
}

}  // namespace lsecheck::sm100
