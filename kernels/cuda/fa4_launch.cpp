#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/fa4_entry.h"
#include "kernels/sm100/fa4_instances.h"

namespace lsecheck::cuda {

namespace {

const std::vector<CompiledKernel>& kernels() {
  static const auto all = collect_shards<sm100::Fa4Table>(std::make_integer_sequence<int, LSECHECK_FA4_SHARDS>{});
  return all;
}

const std::vector<CompiledKernel>& fast_kernels() {
  static const auto all =
      collect_shards<sm100::Fa4FastTable>(std::make_integer_sequence<int, LSECHECK_FA4_FAST_SHARDS>{});
  return all;
}

}  // namespace

std::vector<std::string> fa4_compiled() {
  std::vector<std::string> names = template_ids<sm100::Fa4Table>(kernels());
  for (std::string& name : template_ids<sm100::Fa4FastTable>(fast_kernels())) names.push_back(std::move(name));
  return names;
}

DeviceCombine fa4_on_device(const CombineShape& shape, const KernelVariant& variant) {
  const sm100::Fa4Grid grid = sm100::fa4_grid(shape.partial, shape.ov_depth, variant.load_bytes, shape.rows_heads());
  const auto put = [shape, grid](const DeviceCombine& combine, const DeviceBuffers& buffers, cudaStream_t stream) {
    DeviceBuffers pointers = buffers;
    int num_partitions = shape.num_partitions;
    unsigned rows = shape.rows;
    unsigned heads = shape.heads;
    void* arguments[] = {&pointers.lse_partial, &pointers.o_partial, &pointers.output, &num_partitions, &rows, &heads};
    enqueue_dependent(combine, {grid.blocks, 1, 1}, grid.threads, arguments, stream);
  };
  if (variant.load_bytes > 0) {
    const sm100::Fa4FastEntry entry{shape.out, shape.partial, shape.ov_depth, variant.load_bytes};
    return {template_id(entry), function_of<sm100::Fa4FastTable>(fast_kernels(), entry), put};
  }
  const sm100::Fa4Entry entry{shape.out, shape.partial, shape.ov_depth, variant.p_static};
  return {template_id(entry), function_of<sm100::Fa4Table>(kernels(), entry), put};
}

}  // namespace lsecheck::cuda
