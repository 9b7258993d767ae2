#include "kernels/cuda/device_combine.h"

#include <array>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"

namespace lsecheck::cuda {

namespace {

struct KernelOnDevice {
  std::string_view name;  // in the registry
  DeviceCombine (*prepare)(const CombineShape&, const KernelVariant&);
};
constexpr std::array<KernelOnDevice, 8> kKernels{{{"fa4_splitk_combine", fa4_on_device},
                                                  {"mla_combine", mla_on_device},
                                                  {"mla_combine_split_parallel", mla_on_device},
                                                  {"mha_splitk_reduce", mha_on_device},
                                                  {"fa4_ws_intracta_combine", fa4_ws_intracta_on_device},
                                                  {"fa4_ws_level1_combine", fa4_ws_level1_on_device},
                                                  {"fa4_ws_level2_reduce_scatter_write", fa4_ws_level2_on_device},
                                                  {"fa4_ws_two_level_combine", fa4_ws_two_level_on_device}}};
constexpr std::array kCompiled{fa4_compiled, mla_compiled, mha_compiled, fa4_ws_compiled};

}  // namespace

DeviceCombine on_device(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant) {
  for (const KernelOnDevice& known : kKernels) {
    if (known.name == kernel) return known.prepare(shape, variant);
  }
  throw std::invalid_argument("no CUDA build of " + std::string(kernel));
}

std::vector<std::string> compiled_kernels() {
  std::vector<std::string> all;
  for (const auto compiled : kCompiled) {
    for (std::string& name : compiled()) all.push_back(std::move(name));
  }
  return all;
}

void enqueue(const DeviceCombine& combine, dim3 grid, unsigned threads, std::size_t shared_bytes, void** arguments,
             cudaStream_t stream) {
  check(cudaLaunchKernel(combine.function, grid, {threads, 1, 1}, arguments, shared_bytes, stream),
        combine.name.c_str());
}

void enqueue_dependent(const DeviceCombine& combine, dim3 grid, unsigned threads, void** arguments,
                       cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = {threads, 1, 1};
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelExC(&config, combine.function, arguments), combine.name.c_str());
}

}  // namespace lsecheck::cuda
