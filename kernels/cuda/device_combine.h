#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/combine_kernel.h"

// Inside the CUDA backend only: a compiled combine and how to put a launch of it into a stream. What runs cases, what
// measures and what probes all launch through it.
namespace lsecheck::cuda {

// Layouts as in CombineBuffers, in device memory; nullptr where a launch has none.
struct DeviceBuffers {
  const void* lse_partial = nullptr;
  const void* o_partial = nullptr;
  void* output = nullptr;
  const void* attention_sink = nullptr;
  const void* mass_partial = nullptr;
  const void* row_offsets = nullptr;  // [sequences + 1] u32, of ragged variants
};

struct DeviceCombine {
  std::string name;      // "fa4_splitk_combine<bf16, bf16, 128, 37>"
  const void* function;  // of the runtime's calls
  std::function<void(const DeviceCombine&, const DeviceBuffers&, cudaStream_t)> put;

  void enqueue(const DeviceBuffers& buffers, cudaStream_t stream) const { put(*this, buffers, stream); }
};

// By the name of the registered kernel. Throws std::invalid_argument for a kernel or an instantiation that is not in
// the fat binary.
DeviceCombine on_device(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant);

// The launch of a kernel that waits for nothing: it starts when what stands before it in the stream has ended.
// shared_bytes: of dynamic shared memory.
void enqueue(const DeviceCombine& combine, dim3 grid, unsigned threads, std::size_t shared_bytes, void** arguments,
             cudaStream_t stream);

// The launch of a kernel that begins with griddepcontrol.wait: it may start before what stands before it in the stream
// has ended.
void enqueue_dependent(const DeviceCombine& combine, dim3 grid, unsigned threads, void** arguments,
                       cudaStream_t stream);

// Of one instantiation table each: NAME_launch.cpp.
DeviceCombine fa4_on_device(const CombineShape& shape, const KernelVariant& variant);
std::vector<std::string> fa4_compiled();
DeviceCombine mla_on_device(const CombineShape& shape, const KernelVariant& variant);
std::vector<std::string> mla_compiled();
DeviceCombine mha_on_device(const CombineShape& shape, const KernelVariant& variant);
std::vector<std::string> mha_compiled();
DeviceCombine fa4_ws_intracta_on_device(const CombineShape& shape, const KernelVariant& variant);
DeviceCombine fa4_ws_level1_on_device(const CombineShape& shape, const KernelVariant& variant);
DeviceCombine fa4_ws_level2_on_device(const CombineShape& shape, const KernelVariant& variant);
DeviceCombine fa4_ws_two_level_on_device(const CombineShape& shape, const KernelVariant& variant);
std::vector<std::string> fa4_ws_compiled();

}  // namespace lsecheck::cuda
