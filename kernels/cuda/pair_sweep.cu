#include <algorithm>
#include <cstring>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/pair_sweep.h"
#include "kernels/registry.h"

// The production kernel over all 2^32 values of lse_1, a batch of rows at a time; each batch is judged where it lies.
namespace lsecheck::cuda {

namespace {

constexpr unsigned kThreads = 256;

// Maxima as 64-bit numbers that compare like (scaled_ulp, lse_1_bits): errors are not negative.
struct Tally {
  unsigned long long finite, special, special_violations, column_mismatches;
  unsigned long long ordinary[kPairColumns], all[kPairColumns];
};

__global__ void fill_lse(float* lse_1, unsigned first, unsigned rows) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row < rows) lse_1[row] = __uint_as_float(first + row);
}

__global__ void fill_values(float* o, std::size_t per_partition) {
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < 2 * per_partition;
       i += std::size_t{gridDim.x} * kThreads) {
    const unsigned column = i % kPairColumns;
    const bool second = i >= per_partition;
    o[i] = second ? (column == 0 ? 0.0F : column == 3 ? -1.0F : 1.0F) : (column == 1 ? 0.0F : 1.0F);
  }
}

__global__ void judge(const float* out, unsigned depth, unsigned first, unsigned rows, Tally* tally) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const float* const mine = out + std::size_t{row} * depth;
  const float y[kPairColumns] = {mine[0], mine[1], mine[2], mine[3]};
  bool equal = true;
  for (unsigned d = kPairColumns; d < depth; ++d) {
    equal = equal && __float_as_uint(mine[d]) == __float_as_uint(y[d % kPairColumns]);
  }
  if (!equal) atomicAdd(&tally->column_mismatches, 1ULL);
  const unsigned bits = first + row;
  const float x = __uint_as_float(bits);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    atomicAdd(&tally->special, 1ULL);
    if (!pair_special_holds(x, y)) atomicAdd(&tally->special_violations, 1ULL);
    return;
  }
  atomicAdd(&tally->finite, 1ULL);
  const PairErrors errors = pair_errors(x, y);
  for (int i = 0; i < kPairColumns; ++i) {
    const unsigned long long key =
        (static_cast<unsigned long long>(__float_as_uint(errors.scaled_ulp[i])) << 32) | bits;
    if (key > tally->all[i]) atomicMax(&tally->all[i], key);
    if (fabsf(x) <= kPairOrdinary && key > tally->ordinary[i]) atomicMax(&tally->ordinary[i], key);
  }
}

PairMaximum maximum_of(unsigned long long key) {
  const auto error_bits = static_cast<std::uint32_t>(key >> 32);
  float error;
  std::memcpy(&error, &error_bits, sizeof(error));
  return {error, static_cast<std::uint32_t>(key)};
}

}  // namespace

PairSweepResult sweep_pairs(std::string_view name) {
  require_device();
  const CombineKernel& kernel = *find_kernel(name);
  const int depth = kernel.depths().front();
  // Some 2 GB of values, whatever the depth; a power of two of rows.
  const unsigned rows = depth <= 64 ? 1U << 22 : 1U << 20;
  const CombineShape shape{Arch::sm_90, 2, rows / 64, 64, depth, DType::f32, DType::f32};
  const std::vector<KernelVariant> variants = kernel.variants(shape);
  const auto runtime =
      std::find_if(variants.begin(), variants.end(), [](const KernelVariant& one) { return one.name == "runtime"; });
  const DeviceCombine combine = on_device(name, shape, runtime == variants.end() ? variants.front() : *runtime);

  const std::size_t per_partition = std::size_t{rows} * static_cast<unsigned>(depth);
  const DeviceMemory lse(2 * std::size_t{rows} * sizeof(float));
  const DeviceMemory o(2 * per_partition * sizeof(float));
  const DeviceMemory out(per_partition * sizeof(float));
  const DeviceMemory tally(sizeof(Tally));
  const Stream stream;
  check(cudaMemsetAsync(lse.data(), 0, lse.bytes(), stream.get()), "clearing lse_0");
  check(cudaMemsetAsync(tally.data(), 0, tally.bytes(), stream.get()), "clearing the tally");
  fill_values<<<4096, kThreads, 0, stream.get()>>>(static_cast<float*>(o.data()), per_partition);
  check(cudaGetLastError(), "filling the values");

  float* const lse_1 = static_cast<float*>(lse.data()) + rows;
  for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += rows) {
    fill_lse<<<rows / kThreads, kThreads, 0, stream.get()>>>(lse_1, static_cast<unsigned>(first), rows);
    check(cudaGetLastError(), "filling lse_1");
    combine.enqueue({.lse_partial = lse.data(), .o_partial = o.data(), .output = out.data()}, stream.get());
    judge<<<rows / kThreads, kThreads, 0, stream.get()>>>(static_cast<const float*>(out.data()),
                                                          static_cast<unsigned>(depth), static_cast<unsigned>(first),
                                                          rows, static_cast<Tally*>(tally.data()));
    check(cudaGetLastError(), "judging a batch");
  }
  wait_for(stream.get(), combine.name);
  Tally counted{};
  check(cudaMemcpy(&counted, tally.data(), sizeof(counted), cudaMemcpyDeviceToHost), "the tally");
  PairSweepResult result;
  result.finite = counted.finite;
  result.special = counted.special;
  result.special_violations = counted.special_violations;
  result.column_mismatches = counted.column_mismatches;
  for (std::size_t i = 0; i < kPairColumns; ++i) {
    result.ordinary[i] = maximum_of(counted.ordinary[i]);
    result.all[i] = maximum_of(counted.all[i]);
  }
  return result;
}

}  // namespace lsecheck::cuda
