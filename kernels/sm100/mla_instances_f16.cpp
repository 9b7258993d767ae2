#include "kernels/sm100/mla_instantiate.h"

namespace lsecheck::sm100 {

void append_mla_f16(std::vector<MlaInstance>& instances) {
  append_mla_type<f16, DType::f16>(instances);
}

}  // namespace lsecheck::sm100
