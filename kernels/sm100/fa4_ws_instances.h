#pragma once

#include <vector>

#include "kernels/sm100/fa4_ws_instantiation_table.h"

// The instantiations of the in-CTA combine in the host build, as data.
namespace lsecheck::sm100 {

// Plain buffers; the output's type follows from the instance. Shapes: fa4_ws_kernels.cuh.
struct Fa4WsArguments {
  const float* max_partial = nullptr;
  const float* mass_partial = nullptr;
  const float* o_partial = nullptr;
  void* output = nullptr;
  std::uint32_t rows_heads = 0;
  bool use_fma = false;
  float scale_log2e = 1.0f;
};

struct Fa4WsInstance {
  Fa4WsLevel level;
  DType out;
  int ov_depth;
  int m_pack;
  int num_partitions;
  unsigned threads;                            // of a block
  unsigned rows;                               // of a tile
  std::size_t shared_bytes;                    // dynamic shared memory of a block
  void (*thread_body)(const Fa4WsArguments&);  // one thread of one block, under the executor
};

const std::vector<Fa4WsInstance>& fa4_ws_instances();
// nullptr where the table has no such instance.
const Fa4WsInstance* find_fa4_ws_instance(Fa4WsLevel level, DType out, int ov_depth, int m_pack, int num_partitions);

}  // namespace lsecheck::sm100
