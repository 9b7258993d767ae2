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
  int load_bytes = 0;                        // 0: fa4_splitk_combine; else fa4_splitk_combine_fast, lanes of that width
};

// Whether the fast variant numbers the warps of that many rows in 31 bits.
bool fa4_fast_fits(DType partial, int ov_depth, int load_bytes, std::uint64_t rows_heads);

// Blocks and threads of a launch of that instance.
struct Fa4Grid {
  std::uint32_t blocks;
  std::uint32_t threads;
};
Fa4Grid fa4_grid(DType partial, int ov_depth, int load_bytes, std::uint64_t rows_heads);

// Ordered by types, depth, p_static; the fast ones last.
const std::vector<Fa4Instance>& fa4_instances();
// nullptr where the table has no such instance.
const Fa4Instance* find_fa4_instance(DType out, DType partial, int ov_depth, int p_static, int load_bytes = 0);

}  // namespace lsecheck::sm100
