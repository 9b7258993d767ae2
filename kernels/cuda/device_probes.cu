#include "kernels/cuda/device_probes.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/fa4_launch.h"
#include "kernels/sfu/splitmix64.h"

namespace lsecheck::cuda::probes {

namespace {

constexpr unsigned kThreads = 256;

__host__ __device__ inline float lse_at(std::uint64_t index) {
  // -8 .. 8 in steps of 1/64.
  return static_cast<float>(static_cast<int>(sfu::splitmix64(index) & 1023U) - 512) / 64.0F;
}

__host__ __device__ inline std::uint16_t bf16_at(std::uint64_t index) {
  const std::uint64_t hash = sfu::splitmix64(~index);
  // +-[0.5, 4).
  return static_cast<std::uint16_t>((hash & 0x8000U) | (0x3f00U + (hash & 0x7fffU) % 0x180U));
}

// Copies 4-byte words after a delay; its dependents may start before.
__global__ void late_copy(const unsigned* from, unsigned* to, std::size_t words, long long delay_cycles) {
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
  const long long start = clock64();
  while (clock64() - start < delay_cycles) {
  }
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < words;
       i += std::size_t{gridDim.x} * kThreads) {
    to[i] = from[i];
  }
}

// Reads without waiting for the producer.
__global__ void impatient_read(const volatile unsigned* from, unsigned* to) {
  *to = *from;
}

__global__ void fill_pattern(float* lse, std::uint64_t lse_count, std::uint16_t* o, std::uint64_t o_count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (std::uint64_t i = first; i < lse_count; i += stride) lse[i] = lse_at(i);
  for (std::uint64_t i = first; i < o_count; i += stride) o[i] = bf16_at(i);
}

void launch_dependent(const void* function, cudaStream_t stream, void** arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = {1, 1, 1};
  config.blockDim = {1, 1, 1};
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelExC(&config, function, arguments), "launching a dependent reader");
}

std::size_t up_to_256(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace

float pattern_lse(std::uint64_t index) {
  return lse_at(index);
}
std::uint16_t pattern_bf16(std::uint64_t index) {
  return bf16_at(index);
}

LateProducer run_behind_late_producer(const CombineShape& shape, const KernelVariant& variant,
                                      const CombineBuffers& buffers) {
  require_device();
  // Inputs in one stretch, so that one producer stores them: lse_partial | o_partial.
  const std::size_t lse_bytes = up_to_256(buffers.lse_partial.size());
  const std::size_t bytes = lse_bytes + up_to_256(buffers.o_partial.size());
  const DeviceMemory source(bytes);
  const DeviceMemory target(bytes);
  const DeviceMemory output(buffers.output.size());
  const DeviceMemory seen(sizeof(unsigned));
  auto* const from = static_cast<std::byte*>(source.data());
  auto* const to = static_cast<std::byte*>(target.data());
  check(cudaMemcpy(from, buffers.lse_partial.data(), buffers.lse_partial.size(), cudaMemcpyHostToDevice), "copying");
  check(cudaMemcpy(from + lse_bytes, buffers.o_partial.data(), buffers.o_partial.size(), cudaMemcpyHostToDevice),
        "copying");
  check(cudaDeviceSynchronize(), "copying");  // a copy may return before its last bytes have arrived

  constexpr unsigned char kStale = 0xff;  // NaN, whatever is read of it
  constexpr long long kDelayCycles = 8'000'000;
  const Stream own_stream;
  cudaStream_t const stream = own_stream.get();
  const auto start_producer = [&] {
    check(cudaMemsetAsync(to, kStale, bytes, stream), "setting stale memory");
    check(cudaStreamSynchronize(stream), "setting stale memory");
    late_copy<<<4, kThreads, 0, stream>>>(reinterpret_cast<const unsigned*>(from), reinterpret_cast<unsigned*>(to),
                                          bytes / sizeof(unsigned), kDelayCycles);
    check(cudaGetLastError(), "launching the late producer");
  };

  start_producer();
  const void* read_from = to;
  void* read_to = seen.data();
  void* arguments[] = {&read_from, &read_to};
  launch_dependent(reinterpret_cast<const void*>(&impatient_read), stream, arguments);
  check(cudaStreamSynchronize(stream), "the impatient reader");
  unsigned word = 0;
  check(cudaMemcpy(&word, seen.data(), sizeof(word), cudaMemcpyDeviceToHost), "copying");

  start_producer();
  enqueue_fa4(fa4_function({shape.out, shape.partial, shape.ov_depth, variant.p_static}), shape,
              {to, to + lse_bytes, output.data()}, stream);
  check(cudaStreamSynchronize(stream), "the combine behind a late producer");
  LateProducer result{std::vector<std::byte>(buffers.output.size()), word == 0xffffffffU};
  check(cudaMemcpy(result.output.data(), output.data(), output.bytes(), cudaMemcpyDeviceToHost), "copying");
  return result;
}

std::vector<std::uint16_t> combine_pattern(const CombineShape& shape, const KernelVariant& variant,
                                           const std::vector<std::uint64_t>& rows) {
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
  enqueue_fa4(fa4_function({shape.out, shape.partial, shape.ov_depth, variant.p_static}), shape,
              {lse.data(), o.data(), output.data()}, stream.get());
  check(cudaStreamSynchronize(stream.get()), "the combine of a large grid");
  std::vector<std::uint16_t> result(rows.size() * depth);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(cudaMemcpy(result.data() + i * depth, static_cast<const std::uint16_t*>(output.data()) + rows[i] * depth,
                     depth * sizeof(std::uint16_t), cudaMemcpyDeviceToHost),
          "the combine of a large grid");
  }
  return result;
}

}  // namespace lsecheck::cuda::probes
