#include "kernels/cuda/device_probes.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_workspace.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/sfu/splitmix64.h"
#include "kernels/target.cuh"

// The combines once more, under other names and without their griddepcontrol.wait.
#define grid_dependency_wait() static_cast<void>(0)
#define fa4_splitk_combine fa4_without_wait
#define mla_combine mla_without_wait
#define mla_combine_split_parallel split_parallel_without_wait
#include "kernels/sm100/fa4_splitk_combine.cuh"
#include "kernels/sm100/mla_combine.cuh"
#include "kernels/sm100/mla_combine_split_parallel.cuh"
#undef grid_dependency_wait
#undef fa4_splitk_combine
#undef mla_combine
#undef mla_combine_split_parallel

namespace lsecheck::cuda::probes {

namespace {

constexpr unsigned kThreads = 256;

// A word of host memory that a kernel waits for.
class HostFlag {
 public:
  HostFlag() {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(unsigned), cudaHostAllocMapped), "allocating page-locked memory");
    flag_ = static_cast<volatile unsigned*>(memory);
    *flag_ = 0;
  }
  ~HostFlag() {
    release();
    cudaDeviceSynchronize();  // who waits for the flag still reads it
    cudaFreeHost(const_cast<unsigned*>(flag_));
  }
  HostFlag(const HostFlag&) = delete;
  HostFlag& operator=(const HostFlag&) = delete;

  void release() const { *flag_ = 1; }
  const volatile unsigned* on_device() const { return flag_; }  // unified addressing: the same pointer

 private:
  volatile unsigned* flag_;
};

// Ends by itself when the host never says so: a test that dies must not leave the device busy.
__device__ void wait_for_host(const volatile unsigned* flag) {
  constexpr unsigned long long kNanoseconds = 20'000'000'000ULL;
  const auto now = [] {
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  const unsigned long long start = now();
  while (*flag == 0 && now() - start < kNanoseconds) __nanosleep(1000);
}

// Copies 4-byte words when the host says so. The dependents may start before: the grid behind this one is launched once
// every block has executed launch_dependents, so no block may wait before it does, and all of them must fit on the
// device at once.
__global__ void late_copy(const volatile unsigned* flag, const unsigned* from, unsigned* to, std::size_t words) {
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
  if (threadIdx.x == 0) wait_for_host(flag);
  __syncthreads();
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * kThreads) {
    to[i] = from[i];
  }
}

__global__ void hang(const volatile unsigned* flag) {
  wait_for_host(flag);
}

__host__ __device__ inline float lse_at(std::uint64_t index) {
  // -8 .. 8 in steps of 1/64.
  return static_cast<float>(static_cast<int>(sfu::splitmix64(index) & 1023U) - 512) / 64.0F;
}

__host__ __device__ inline std::uint16_t bf16_at(std::uint64_t index) {
  const std::uint64_t hash = sfu::splitmix64(~index);
  // +-[0.5, 4).
  return static_cast<std::uint16_t>((hash & 0x8000U) | (0x3f00U + (hash & 0x7fffU) % 0x180U));
}

__global__ void fill_pattern(float* lse, std::uint64_t lse_count, std::uint16_t* o, std::uint64_t o_count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (std::uint64_t i = first; i < lse_count; i += stride) lse[i] = lse_at(i);
  for (std::uint64_t i = first; i < o_count; i += stride) o[i] = bf16_at(i);
}

std::size_t up_to_256(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

const void* function_without_wait(const std::string& name) {
  if (name == "fa4_splitk_combine<bf16, bf16, 128, 16>") {
    return reinterpret_cast<const void*>(&sm100::fa4_without_wait<bf16, bf16, 128, 16>);
  }
  if (name == "mla_combine<bf16, 512, 37, 4>") {
    return reinterpret_cast<const void*>(&sm100::mla_without_wait<bf16, 512, 37, 4>);
  }
  if (name == "mla_combine_split_parallel<bf16, 512, 37>") {
    return reinterpret_cast<const void*>(&sm100::split_parallel_without_wait<bf16, 512, 37>);
  }
  throw std::invalid_argument("no probe of " + name);
}

// Kernels are loaded on first use, which may wait until the device is idle: never, while a producer waits for the host.
void load(const void* function) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function), "loading a kernel");
}

// Inputs in one stretch, so that one producer stores them: lse_partial | o_partial.
struct Stretch {
  std::size_t lse_bytes;
  DeviceMemory source, target;

  explicit Stretch(const CombineBuffers& buffers)
      : lse_bytes(up_to_256(buffers.lse_partial.size())),
        source(lse_bytes + up_to_256(buffers.o_partial.size())),
        target(source.bytes()) {
    auto* const from = static_cast<std::byte*>(source.data());
    check(cudaMemset(from, 0, source.bytes()), "copying");
    check(cudaMemcpy(from, buffers.lse_partial.data(), buffers.lse_partial.size(), cudaMemcpyHostToDevice), "copying");
    check(cudaMemcpy(from + lse_bytes, buffers.o_partial.data(), buffers.o_partial.size(), cudaMemcpyHostToDevice),
          "copying");
    check(cudaDeviceSynchronize(), "copying");  // a copy may return before its last bytes have arrived
  }
};

std::vector<std::byte> output_behind_producer(const DeviceCombine& combine, const Stretch& inputs,
                                              std::size_t output_bytes) {
  constexpr std::chrono::milliseconds kHeadStart{50};
  const DeviceMemory output(output_bytes);
  const Stream own_stream;
  cudaStream_t const stream = own_stream.get();
  auto* const to = static_cast<std::byte*>(inputs.target.data());
  check(cudaMemsetAsync(to, kStaleWord & 0xffU, inputs.target.bytes(), stream), "setting stale memory");
  check(cudaStreamSynchronize(stream), "setting stale memory");
  load(reinterpret_cast<const void*>(&late_copy));
  load(combine.function);

  const HostFlag flag;
  late_copy<<<4, kThreads, 0, stream>>>(flag.on_device(), static_cast<const unsigned*>(inputs.source.data()),
                                        reinterpret_cast<unsigned*>(to), inputs.target.bytes() / sizeof(unsigned));
  check(cudaGetLastError(), "launching the late producer");
  combine.enqueue({.lse_partial = to, .o_partial = to + inputs.lse_bytes, .output = output.data()}, stream);
  std::this_thread::sleep_for(kHeadStart);
  flag.release();
  wait_for(stream, combine.name);
  std::vector<std::byte> result(output_bytes);
  check(cudaMemcpy(result.data(), output.data(), output_bytes, cudaMemcpyDeviceToHost), "copying");
  return result;
}

}  // namespace

float pattern_lse(std::uint64_t index) {
  return lse_at(index);
}
std::uint16_t pattern_bf16(std::uint64_t index) {
  return bf16_at(index);
}

LateProducer run_behind_late_producer(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                                      const CombineBuffers& buffers) {
  require_device();
  const DeviceCombine waiting = on_device(kernel, shape, variant);
  DeviceCombine impatient = waiting;
  impatient.function = function_without_wait(waiting.name);
  const Stretch inputs(buffers);
  return {output_behind_producer(waiting, inputs, buffers.output.size()),
          output_behind_producer(impatient, inputs, buffers.output.size())};
}

void run_hung_kernel() {
  require_device();
  load(reinterpret_cast<const void*>(&hang));
  const HostFlag flag;
  const BorrowedWorkspace workspace(1);
  hang<<<1, 1, 0, workspace->stream()>>>(flag.on_device());
  check(cudaGetLastError(), "launching a kernel that hangs");
  wait_for(workspace->stream(), "hang<>");
}

std::vector<std::uint16_t> combine_pattern(std::string_view kernel, const CombineShape& shape,
                                           const KernelVariant& variant, const std::vector<std::uint64_t>& row_heads) {
  require_device();
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const std::uint64_t lse_count = static_cast<std::uint64_t>(shape.num_partitions) * shape.rows_heads();
  const DeviceMemory lse(lse_count * sizeof(float));
  const DeviceMemory o(lse_count * depth * sizeof(std::uint16_t));
  const DeviceMemory output(shape.rows_heads() * depth * sizeof(std::uint16_t));
  const Stream stream;
  fill_pattern<<<1024, kThreads, 0, stream.get()>>>(static_cast<float*>(lse.data()), lse_count,
                                                    static_cast<std::uint16_t*>(o.data()), lse_count * depth);
  check(cudaGetLastError(), "filling with the pattern");
  const DeviceCombine combine = on_device(kernel, shape, variant);
  combine.enqueue({.lse_partial = lse.data(), .o_partial = o.data(), .output = output.data()}, stream.get());
  wait_for(stream.get(), combine.name);
  std::vector<std::uint16_t> result(row_heads.size() * depth);
  for (std::size_t i = 0; i < row_heads.size(); ++i) {
    check(cudaMemcpy(result.data() + i * depth, static_cast<const std::uint16_t*>(output.data()) + row_heads[i] * depth,
                     depth * sizeof(std::uint16_t), cudaMemcpyDeviceToHost),
          "the combine of a large grid");
  }
  return result;
}

}  // namespace lsecheck::cuda::probes
