#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/fa4_entry.h"

namespace lsecheck::cuda {

namespace {

const std::vector<CompiledKernel>& kernels() {
  static const auto all = collect_shards<sm100::Fa4Table>(std::make_integer_sequence<int, LSECHECK_FA4_SHARDS>{});
  return all;
}

}  // namespace

std::vector<std::string> fa4_compiled() {
  return template_ids<sm100::Fa4Table>(kernels());
}

// One warp per row-head.
DeviceCombine fa4_on_device(const CombineShape& shape, const KernelVariant& variant) {
  const sm100::Fa4Entry entry{shape.out, shape.partial, shape.ov_depth, variant.p_static};
  const auto put = [shape](const DeviceCombine& combine, const DeviceBuffers& buffers, cudaStream_t stream) {
    DeviceBuffers pointers = buffers;
    int num_partitions = shape.num_partitions;
    unsigned rows = shape.rows;
    unsigned heads = shape.heads;
    void* arguments[] = {&pointers.lse_partial, &pointers.o_partial, &pointers.output, &num_partitions, &rows, &heads};
    enqueue_dependent(combine, {static_cast<unsigned>(shape.rows_heads()), 1, 1}, 32, arguments, stream);
  };
  return {template_id(entry), function_of<sm100::Fa4Table>(kernels(), entry), put};
}

}  // namespace lsecheck::cuda
