#include "kernels/cuda/cuda_bench.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_event.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/sfu/splitmix64.h"

namespace lsecheck::cuda {

namespace {

// The median over `repeats` of the time that `train` takes in a stream, after one run to warm up.
double median_seconds(int repeats, const std::string& what, const std::function<void(cudaStream_t)>& train) {
  const Stream stream;
  const Event begin;
  const Event end;
  train(stream.get());
  std::vector<float> milliseconds;
  for (int i = 0; i < repeats; ++i) {
    check(cudaEventRecord(begin.get(), stream.get()), "timing");
    train(stream.get());
    check(cudaEventRecord(end.get(), stream.get()), "timing");
    wait_for(stream.get(), what);
    check(cudaEventElapsedTime(&milliseconds.emplace_back(), begin.get(), end.get()), "timing");
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + repeats / 2, milliseconds.end());
  return milliseconds[static_cast<std::size_t>(repeats / 2)] * 1e-3;
}

// Inputs of ordinary size: LSEs in [-4, 4), values in +-[0.5, 4). Zeros would be timed faster than data.
std::vector<float> random_lse(std::size_t count) {
  std::vector<float> lse(count);
  for (std::size_t i = 0; i < count; ++i) {
    lse[i] = static_cast<float>(static_cast<int>(sfu::splitmix64(i) & 1023U) - 512) / 128.0F;
  }
  return lse;
}

// f16 and bf16 words of ordinary size are the same range up to a shift of the exponent field.
void fill_values(DType type, std::byte* to, std::size_t bytes) {
  std::vector<std::uint32_t> block(std::min<std::size_t>(bytes / 4 + 1, std::size_t{1} << 22));
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::uint64_t hash = sfu::splitmix64(~i);
    const auto word = [type](std::uint64_t bits) {
      const std::uint64_t sign = bits & 0x8000U;
      return static_cast<std::uint32_t>(
          sign | (type == DType::f16 ? 0x3800U + (bits & 0x7fffU) % 0xc00U : 0x3f00U + (bits & 0x7fffU) % 0x180U));
    };
    block[i] = type == DType::f32 ? (word(hash) << 16) | static_cast<std::uint32_t>(hash >> 48)
                                  : (word(hash) << 16) | word(hash >> 16);
  }
  for (std::size_t done = 0; done < bytes; done += block.size() * 4) {
    check(cudaMemcpy(to + done, block.data(), std::min(bytes - done, block.size() * 4), cudaMemcpyHostToDevice),
          "filling the inputs");
  }
}

std::size_t up_to_256(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace

CombineTiming time_combine(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                           int repeats) {
  require_device();
  const std::size_t pairs = static_cast<std::size_t>(shape.num_partitions) * shape.rows_heads();
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const std::size_t lse_bytes = pairs * sizeof(float);
  const std::size_t o_bytes = pairs * depth * size_of(shape.partial);
  const std::size_t out_bytes = shape.rows_heads() * depth * size_of(shape.out);
  const std::size_t set_bytes = up_to_256(lse_bytes) + up_to_256(o_bytes) + up_to_256(out_bytes);
  const std::size_t sets = std::max<std::size_t>(2, 4 * availability().device->l2_bytes / set_bytes + 1);

  const DeviceMemory memory(sets * set_bytes);
  const std::vector<float> lse = random_lse(pairs);
  std::vector<DeviceBuffers> buffers;
  for (std::size_t set = 0; set < sets; ++set) {
    std::byte* const base = static_cast<std::byte*>(memory.data()) + set * set_bytes;
    std::byte* const o = base + up_to_256(lse_bytes);
    buffers.push_back({.lse_partial = base, .o_partial = o, .output = o + up_to_256(o_bytes)});
    check(cudaMemcpy(base, lse.data(), lse_bytes, cudaMemcpyHostToDevice), "filling the inputs");
    fill_values(shape.partial, o, o_bytes);
  }
  check(cudaDeviceSynchronize(), "filling the inputs");  // a copy may return before its last bytes have arrived

  const DeviceCombine combine = on_device(kernel, shape, variant);
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, combine.function), "looking at the kernel");
  // Long enough that the launch of the first one does not count.
  const std::size_t train = std::max<std::size_t>(32, sets);
  const double seconds = median_seconds(repeats, combine.name, [&](cudaStream_t stream) {
    for (std::size_t i = 0; i < train; ++i) combine.enqueue(buffers[i % sets], stream);
  });
  return {seconds / static_cast<double>(train), lse_bytes + o_bytes + out_bytes, attributes.numRegs};
}

double copy_bytes_per_second(int repeats) {
  require_device();
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const DeviceMemory from(kBytes);
  const DeviceMemory to(kBytes);
  fill_values(DType::f32, static_cast<std::byte*>(from.data()), kBytes);
  check(cudaDeviceSynchronize(), "filling the inputs");
  constexpr int kCopies = 8;
  const double seconds = median_seconds(repeats, "a copy of 1 GiB", [&](cudaStream_t stream) {
    for (int i = 0; i < kCopies; ++i) {
      check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream), "copying");
    }
  });
  return 2.0 * kCopies * static_cast<double>(kBytes) / seconds;
}

}  // namespace lsecheck::cuda
