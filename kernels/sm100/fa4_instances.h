#pragma once

#include <cstdint>
#include <vector>

#include "reference/float_format.h"

// The FA4 combine instantiations of the host build, as data.
namespace lsecheck::sm100 {

// Plain buffers; element types follow from the instance. Shapes: fa4_splitk_combine.cuh.
struct Fa4Arguments {
  const float* lse_partial = nullptr;
  const void* o_partial = nullptr;
  void* output = nullptr;
  int num_partitions = 0;
  unsigned num_rows_q = 0;
  unsigned num_q_heads = 0;
};

struct Fa4Instance {
  DType out;
  DType partial;
  int ov_depth;
  int p_static;                              // 0: runtime P
  void (*thread_body)(const Fa4Arguments&);  // one thread of one block, under the executor
};

// Ordered by types, depth, p_static.
const std::vector<Fa4Instance>& fa4_instances();
// nullptr where the table has no such instance.
const Fa4Instance* find_fa4_instance(DType out, DType partial, int ov_depth, int p_static);

}  // namespace lsecheck::sm100
