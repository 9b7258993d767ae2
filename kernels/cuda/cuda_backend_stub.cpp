#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_bench.h"
#include "kernels/cuda/cuda_two_partition.h"
#include "kernels/cuda/sfu_sweep.h"

// The build without nvcc: cuda.cmake compiles this file in place of the files that need the CUDA runtime.
namespace lsecheck::cuda {

namespace {

[[noreturn]] void unavailable() {
  throw DeviceError(DeviceError::Kind::unavailable, availability().reason);
}

}  // namespace

const Availability& availability() {
  static const Availability none{std::nullopt, "this build has no CUDA kernels (it was configured without nvcc)"};
  return none;
}

std::vector<std::string> compiled_kernels() {
  return {};
}

std::optional<simt::Fault> launch(std::string_view, const CombineShape&, const KernelVariant&, const CombineBuffers&,
                                  std::span<const std::uint32_t>) {
  unavailable();
}

std::array<std::uint64_t, 512> measure_digests(sfu::Instruction) {
  unavailable();
}

std::vector<std::uint32_t> measure_block(sfu::Instruction, std::uint32_t) {
  unavailable();
}

CombineTiming time_combine(std::string_view, const CombineShape&, const KernelVariant&, int) {
  unavailable();
}

double copy_bytes_per_second(int) {
  unavailable();
}

TwoPartitionSweep sweep_two_partitions(two_partition::Kernel, std::uint64_t) {
  unavailable();
}

}  // namespace lsecheck::cuda
