#include "kernels/sm100/fa4_instantiate.h"

namespace lsecheck::sm100 {

void append_f16_f16(std::vector<Fa4Instance>& instances) {
  append_types<f16, f16>(instances);
}

}  // namespace lsecheck::sm100
