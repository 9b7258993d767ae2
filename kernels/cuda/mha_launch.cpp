#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/mha_entry.h"

namespace lsecheck::cuda {

namespace {

const std::vector<CompiledKernel>& kernels() {
  static const auto all = collect_shards<sm100::MhaTable>(std::make_integer_sequence<int, LSECHECK_MHA_SHARDS>{});
  return all;
}

}  // namespace

std::vector<std::string> mha_compiled() {
  return template_ids<sm100::MhaTable>(kernels());
}

DeviceCombine mha_on_device(const CombineShape& shape, const KernelVariant&) {
  const sm100::MhaEntry entry{shape.out, shape.partial, shape.ov_depth, shape.exponent == ExponentForm::natural};
  const auto put = [shape](const DeviceCombine& combine, const DeviceBuffers& buffers, cudaStream_t stream) {
    DeviceBuffers pointers = buffers;
    auto num_partitions = static_cast<unsigned>(shape.num_partitions);
    unsigned rows = shape.rows;
    unsigned heads = shape.heads;
    void* arguments[] = {&pointers.lse_partial,
                         &pointers.mass_partial,
                         &pointers.o_partial,
                         &pointers.output,
                         &num_partitions,
                         &rows,
                         &heads};
    enqueue(combine, {1, heads, rows}, 32, 0, arguments, stream);
  };
  return {template_id(entry), function_of<sm100::MhaTable>(kernels(), entry), put};
}

}  // namespace lsecheck::cuda
