#include "kernels/sm100/fa4_instantiate.h"

namespace lsecheck::sm100 {

void append_bf16_bf16(std::vector<Fa4Instance>& instances) {
  append_types<bf16, bf16>(instances);
}

}  // namespace lsecheck::sm100
