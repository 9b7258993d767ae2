#include "kernels/sm100/mla_instantiate.h"

namespace lsecheck::sm100 {

void append_mla_bf16(std::vector<MlaInstance>& instances) {
  append_mla_type<bf16, DType::bf16>(instances);
}

}  // namespace lsecheck::sm100
