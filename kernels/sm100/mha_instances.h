#pragma once

#include <vector>

#include "reference/float_format.h"

// The mha_splitk_reduce instantiations of the host build, as data.
namespace lsecheck::sm100 {

// Plain buffers; element types follow from the instance. Shapes: mha_splitk_reduce.cuh.
struct MhaArguments {
  const float* qk_max = nullptr;
  const float* exp_sum = nullptr;
  const void* o_partial = nullptr;
  void* output = nullptr;
  unsigned num_partitions = 0;
  unsigned num_rows = 0;
  unsigned num_heads = 0;
};

struct MhaInstance {
  DType out;
  DType partial;
  int ov_depth;
  bool natural;
  void (*thread_body)(const MhaArguments&);  // one thread of one block, under the executor
};

const std::vector<MhaInstance>& mha_instances();
// nullptr where the table has no such instance.
const MhaInstance* find_mha_instance(DType out, DType partial, int ov_depth, bool natural);

}  // namespace lsecheck::sm100
