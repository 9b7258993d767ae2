#include "kernels/sm100/mla_launch.h"

#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/mla_entry.h"

namespace lsecheck::cuda {

namespace {

const std::vector<CompiledKernel>& kernels() {
  static const auto all = collect_shards<sm100::MlaTable>(std::make_integer_sequence<int, LSECHECK_MLA_SHARDS>{});
  return all;
}

}  // namespace

std::vector<std::string> mla_compiled() {
  return template_ids<sm100::MlaTable>(kernels());
}

DeviceCombine mla_on_device(const CombineShape& shape, const KernelVariant& variant) {
  const sm100::MlaEntry entry{shape.out, shape.ov_depth, shape.num_partitions, variant.warps_per_head};
  const auto put = [shape, variant](const DeviceCombine& combine, const DeviceBuffers& buffers, cudaStream_t stream) {
    const sm100::MlaLaunchPlan plan = sm100::mla_launch_plan(shape.rows, variant.ragged);
    const simt::Dim3 grid = sm100::mla_grid(plan, shape.heads, variant.warps_per_head);
    DeviceBuffers pointers = buffers;
    sm100::MlaGeometry geometry{plan.batch_size, plan.seq_len, shape.heads,
                                static_cast<const std::uint32_t*>(buffers.row_offsets)};
    void* arguments[] = {&pointers.lse_partial, &pointers.o_partial, &pointers.output, &pointers.attention_sink,
                         &geometry};
    enqueue_dependent(combine, {grid.x, grid.y, grid.z}, sm100::kMlaThreads, arguments, stream);
  };
  return {template_id(entry), function_of<sm100::MlaTable>(kernels(), entry), put};
}

}  // namespace lsecheck::cuda
