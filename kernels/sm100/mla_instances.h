#pragma once

#include <vector>

#include "kernels/sm100/mla_instantiation_table.h"
#include "kernels/sm100/mla_place.cuh"
#include "reference/float_format.h"

// The MLA combine instantiations of the host build, as data.
namespace lsecheck::sm100 {

// Plain buffers; element types follow from the instance. Shapes: mla_combine.cuh.
struct MlaArguments {
  const float* lse_partial = nullptr;
  const void* o_partial = nullptr;
  void* output = nullptr;
  const float* attention_sink = nullptr;
  MlaGeometry geometry{};
};

struct MlaInstance {
  DType type;
  int head_dim;
  int num_splits;
  int warps_per_head;                        // kSplitParallelInstance: mla_combine_split_parallel
  void (*thread_body)(const MlaArguments&);  // one thread of one block, under the executor
};

const std::vector<MlaInstance>& mla_instances();
// nullptr where the table has no such instance.
const MlaInstance* find_mla_instance(DType type, int head_dim, int num_splits, int warps_per_head);

}  // namespace lsecheck::sm100
