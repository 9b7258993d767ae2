#include "kernels/sm100/fa4_ws_instantiate.h"

namespace lsecheck::sm100 {

void append_fa4_ws_bf16(std::vector<Fa4WsInstance>& instances) {
  append_fa4_ws_type<bf16, DType::bf16>(instances);
}

}  // namespace lsecheck::sm100
