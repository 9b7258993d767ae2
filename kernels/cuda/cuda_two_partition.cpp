#include "kernels/cuda/cuda_two_partition.h"

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/two_partition_device.h"
#include "kernels/two_partition/two_partition_shape.h"
#include "kernels/two_partition/two_partition_sweep.h"

namespace lsecheck::cuda {

namespace {

constexpr std::uint32_t kRows = 1U << 18;    // a batch: below a gigabyte for either kernel
constexpr unsigned kBlocks = 132 * 8;        // of the certification
constexpr std::uint64_t kBatchesAhead = 64;  // that may be in the stream at once: the time limit is for this many

template <class T>
T* as(const DeviceMemory& memory) {
  return static_cast<T*>(memory.data());
}

}  // namespace

TwoPartitionSweep sweep_two_partitions(two_partition::Kernel kernel, std::uint64_t stride) {
  require_device();
  const CombineShape shape = two_partition::sweep_shape(kernel, kRows);
  const DeviceCombine combine = on_device(two_partition::name_of(kernel), shape, two_partition::sweep_variant(kernel));
  const std::vector<float> partials = two_partition::partials_of(shape);
  const DeviceMemory lse(2 * kRows * sizeof(float));
  const DeviceMemory o(partials.size() * sizeof(float));
  const DeviceMemory output(partials.size() / 2 * sizeof(float));
  const DeviceMemory tallies(kBlocks * sizeof(std::array<two_partition::ColumnTally, kValuePairs>));
  const DeviceMemory open(kMaxOpen * sizeof(two_partition::OpenElement));
  const DeviceMemory open_count(sizeof(unsigned long long));

  TwoPartitionSweep result;
  std::vector<std::array<two_partition::ColumnTally, kValuePairs>> of_block(kBlocks);
  check(cudaMemset(lse.data(), 0, lse.bytes()), "filling the sweep's inputs");
  check(cudaMemset(open_count.data(), 0, open_count.bytes()), "filling the sweep's inputs");
  check(cudaMemcpy(o.data(), partials.data(), o.bytes(), cudaMemcpyHostToDevice), "filling the sweep's inputs");
  check(cudaMemcpy(tallies.data(), of_block.data(), tallies.bytes(), cudaMemcpyHostToDevice),
        "filling the sweep's inputs");
  check(cudaDeviceSynchronize(), "filling the sweep's inputs");

  const Stream stream;
  TwoPartitionBatch batch{as<std::uint32_t>(lse) + kRows,
                          as<std::uint32_t>(output),
                          0,
                          shape.ov_depth,
                          sfu::accuracy_of(sfu::UnitKind::h200),
                          as<two_partition::ColumnTally>(tallies),
                          as<two_partition::OpenElement>(open),
                          as<unsigned long long>(open_count)};
  const std::uint64_t rows = ((std::uint64_t{1} << 32) - 1) / stride + 1;
  std::uint64_t batches = 0;
  for (std::uint64_t first = 0; first < rows; first += kRows) {
    batch.count = static_cast<unsigned>(std::min<std::uint64_t>(kRows, rows - first));
    enqueue_fill_lse(as<std::uint32_t>(lse) + kRows, first, batch.count, kRows, stride, stream.get());
    // An output that the combine does not write stays NaN.
    check(cudaMemsetAsync(output.data(), 0xff, output.bytes(), stream.get()), "clearing the sweep's output");
    combine.enqueue({.lse_partial = lse.data(), .o_partial = o.data(), .output = output.data()}, stream.get());
    enqueue_certify(kernel, batch, kBlocks, stream.get());
    if (++batches % kBatchesAhead == 0) wait_for(stream.get(), combine.name);
  }
  wait_for(stream.get(), combine.name);

  unsigned long long count = 0;
  check(cudaMemcpy(&count, open_count.data(), sizeof count, cudaMemcpyDeviceToHost), combine.name.c_str());
  check(cudaMemcpy(of_block.data(), tallies.data(), tallies.bytes(), cudaMemcpyDeviceToHost), combine.name.c_str());
  result.open_count = count;
  result.open.resize(std::min<std::uint64_t>(count, kMaxOpen));
  if (!result.open.empty()) {
    check(cudaMemcpy(result.open.data(), open.data(), result.open.size() * sizeof(two_partition::OpenElement),
                     cudaMemcpyDeviceToHost),
          combine.name.c_str());
  }
  for (const auto& block : of_block) {
    for (std::size_t column = 0; column < kValuePairs; ++column) result.columns[column].merge(block[column]);
  }
  return result;
}

}  // namespace lsecheck::cuda
