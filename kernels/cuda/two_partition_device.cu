#include "kernels/cuda/two_partition_device.h"

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_two_partition.h"

namespace lsecheck::cuda {

namespace {

using two_partition::ColumnTally;
using two_partition::Kernel;
using two_partition::OpenElement;

constexpr unsigned kThreads = 128;  // a thread keeps to one column: a multiple of kValuePairs

// rows LSEs: those of partition 0 stay 0.
__global__ void fill_lse(std::uint32_t* lse_1, std::uint64_t first, unsigned count, unsigned rows,
                         std::uint64_t stride) {
  const unsigned r = blockIdx.x * kThreads + threadIdx.x;
  if (r < rows) lse_1[r] = r < count ? static_cast<std::uint32_t>((first + r) * stride) : 0;
}

template <Kernel kernel>
__device__ void see(const TwoPartitionBatch& batch, std::uint32_t lse_bits, std::uint32_t column,
                    std::uint32_t out_bits, ColumnTally& tally) {
  if (two_partition::makes_row_nan(lse_bits)) {
    if (two_partition::is_nan_bits(out_bits)) {
      ++tally.nan_due;
      return;
    }
  } else {
    const auto z = static_cast<double>(__uint_as_float(lse_bits));
    const two_partition::Verdict verdict =
        two_partition::verdict_on<kernel>(z, static_cast<int>(column), out_bits, batch.unit);
    if (verdict.decided && verdict.grade.within_bound) {
      tally.add(lse_bits, out_bits, verdict.grade);
      return;
    }
  }
  const unsigned long long at = atomicAdd(batch.open_count, 1ULL);
  if (at < kMaxOpen) batch.open[at] = {lse_bits, column, out_bits};
}

// Block b adds to tallies[4 b ..]; launches follow each other in one stream.
template <Kernel kernel>
__global__ void certify(TwoPartitionBatch batch) {
  const std::uint32_t column = threadIdx.x % kValuePairs;
  ColumnTally tally;
  const unsigned rows_at_once = gridDim.x * (kThreads / kValuePairs);
  for (unsigned r = blockIdx.x * (kThreads / kValuePairs) + threadIdx.x / kValuePairs; r < batch.count;
       r += rows_at_once) {
    const auto place = static_cast<std::size_t>(r) * static_cast<unsigned>(batch.depth) + column;
    see<kernel>(batch, batch.lse_1[r], column, batch.output[place], tally);
  }
  __shared__ ColumnTally tallies[kThreads];
  tallies[threadIdx.x] = tally;
  __syncthreads();
  if (threadIdx.x >= kValuePairs) return;
  ColumnTally& sum = batch.tallies[blockIdx.x * kValuePairs + threadIdx.x];
  for (unsigned t = threadIdx.x; t < kThreads; t += kValuePairs) sum.merge(tallies[t]);
}

}  // namespace

void enqueue_fill_lse(std::uint32_t* lse_1, std::uint64_t first, unsigned count, unsigned rows, std::uint64_t stride,
                      cudaStream_t stream) {
  fill_lse<<<(rows + kThreads - 1) / kThreads, kThreads, 0, stream>>>(lse_1, first, count, rows, stride);
  check(cudaGetLastError(), "filling the LSEs of the sweep");
}

void enqueue_certify(Kernel kernel, const TwoPartitionBatch& batch, unsigned blocks, cudaStream_t stream) {
  if (kernel == Kernel::fa4) {
    certify<Kernel::fa4><<<blocks, kThreads, 0, stream>>>(batch);
  } else {
    certify<Kernel::split_parallel><<<blocks, kThreads, 0, stream>>>(batch);
  }
  check(cudaGetLastError(), "certifying a batch of the sweep");
}

}  // namespace lsecheck::cuda
