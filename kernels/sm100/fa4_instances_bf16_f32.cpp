#include "kernels/sm100/fa4_instantiate.h"

namespace lsecheck::sm100 {

void append_bf16_f32(std::vector<Fa4Instance>& instances) {
  append_types<bf16, float>(instances);
}

}  // namespace lsecheck::sm100
