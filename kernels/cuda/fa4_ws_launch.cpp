#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/sm100/fa4_ws_instances.h"
#include "kernels/sm100/fa4_ws_kernels.cuh"

namespace lsecheck::cuda {

namespace {

const std::vector<CompiledKernel>& kernels() {
  static const auto all = collect_shards<sm100::Fa4WsTable>(std::make_integer_sequence<int, LSECHECK_FA4_WS_SHARDS>{});
  return all;
}

DeviceCombine on_device_of_level(sm100::Fa4WsLevel level, const CombineShape& shape, const KernelVariant& variant) {
  const sm100::Fa4WsEntry entry{level, shape.out, shape.ov_depth, variant.m_pack, shape.num_partitions};
  const sm100::Fa4WsInstance* const instance =
      sm100::find_fa4_ws_instance(level, shape.out, shape.ov_depth, variant.m_pack, shape.num_partitions);
  if (instance == nullptr) throw std::invalid_argument("no CUDA kernel " + template_id(entry));
  const void* const function = function_of<sm100::Fa4WsTable>(kernels(), entry);
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(instance->shared_bytes)),
        template_id(entry).c_str());
  const auto put = [shape, instance](const DeviceCombine& combine, const DeviceBuffers& buffers, cudaStream_t stream) {
    const auto rows_heads = static_cast<unsigned>(shape.rows_heads());
    sm100::Fa4WsInputs inputs{static_cast<const float*>(buffers.lse_partial),
                              static_cast<const float*>(buffers.mass_partial),
                              static_cast<const float*>(buffers.o_partial),
                              rows_heads,
                              {shape.exponent == ExponentForm::scaled, shape.exponent_scale}};
    void* output = buffers.output;
    void* arguments[] = {&inputs, &output};
    enqueue(combine, {(rows_heads - 1) / instance->rows + 1, 1, 1}, instance->threads, instance->shared_bytes,
            arguments, stream);
  };
  return {template_id(entry), function, put};
}

}  // namespace

std::vector<std::string> fa4_ws_compiled() {
  return template_ids<sm100::Fa4WsTable>(kernels());
}

DeviceCombine fa4_ws_intracta_on_device(const CombineShape& shape, const KernelVariant& variant) {
  return on_device_of_level(sm100::Fa4WsLevel::intracta, shape, variant);
}
DeviceCombine fa4_ws_level1_on_device(const CombineShape& shape, const KernelVariant& variant) {
  return on_device_of_level(sm100::Fa4WsLevel::level1, shape, variant);
}
DeviceCombine fa4_ws_level2_on_device(const CombineShape& shape, const KernelVariant& variant) {
  return on_device_of_level(sm100::Fa4WsLevel::level2, shape, variant);
}
DeviceCombine fa4_ws_two_level_on_device(const CombineShape& shape, const KernelVariant& variant) {
  return on_device_of_level(sm100::Fa4WsLevel::two_level, shape, variant);
}

}  // namespace lsecheck::cuda
