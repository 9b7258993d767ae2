#include "kernels/cuda/sfu_sweep.h"

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/sfu/splitmix64.h"

namespace lsecheck::cuda {

namespace {

using sfu::Instruction;

constexpr unsigned kBlocks = 512;
constexpr unsigned kInputsPerBlock = 1U << 23;
constexpr unsigned kChunks = 64;  // thread blocks per digest block
constexpr unsigned kThreads = 256;

template <Instruction instruction>
__device__ __forceinline__ unsigned evaluate(unsigned input) {
  const float x = __uint_as_float(input);
  float y;
  if constexpr (instruction == Instruction::ex2_approx_ftz) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  } else if constexpr (instruction == Instruction::ex2_approx) {
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  } else if constexpr (instruction == Instruction::lg2_approx_ftz) {
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  } else if constexpr (instruction == Instruction::lg2_approx) {
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  } else {
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  }
  return __float_as_uint(y);
}

// blockIdx.y: digest block, blockIdx.x: chunk of its inputs. The digest is a sum, so any order of additions gives it.
template <Instruction instruction>
__global__ void sweep(unsigned long long* digests) {
  constexpr unsigned kPerChunk = kInputsPerBlock / kChunks;
  const unsigned first = blockIdx.y * kInputsPerBlock + blockIdx.x * kPerChunk;
  unsigned long long sum = 0;
  for (unsigned i = threadIdx.x; i < kPerChunk; i += kThreads) {
    const unsigned input = first + i;
    sum += sfu::splitmix64((std::uint64_t{input} << 32) | evaluate<instruction>(input));
  }
  for (unsigned offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffU, sum, static_cast<int>(offset));
  if (threadIdx.x % 32 == 0) atomicAdd(digests + blockIdx.y, sum);
}

template <Instruction instruction>
__global__ void evaluate_block(unsigned first, unsigned* outputs) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  outputs[i] = evaluate<instruction>(first + i);
}

// Calls call.template operator()<instruction>() for a run-time instruction.
template <class Call>
void dispatch(Instruction instruction, const Call& call) {
  switch (instruction) {
    case Instruction::ex2_approx_ftz:
      return call.template operator()<Instruction::ex2_approx_ftz>();
    case Instruction::ex2_approx:
      return call.template operator()<Instruction::ex2_approx>();
    case Instruction::lg2_approx_ftz:
      return call.template operator()<Instruction::lg2_approx_ftz>();
    case Instruction::lg2_approx:
      return call.template operator()<Instruction::lg2_approx>();
    case Instruction::rcp_approx_ftz:
      return call.template operator()<Instruction::rcp_approx_ftz>();
  }
}

struct LaunchSweep {
  unsigned long long* digests;
  template <Instruction instruction>
  void operator()() const {
    sweep<instruction><<<dim3(kChunks, kBlocks), kThreads>>>(digests);
  }
};

struct LaunchEvaluateBlock {
  unsigned first;
  unsigned* outputs;
  template <Instruction instruction>
  void operator()() const {
    evaluate_block<instruction><<<kInputsPerBlock / kThreads, kThreads>>>(first, outputs);
  }
};

}  // namespace

std::array<std::uint64_t, 512> measure_digests(Instruction instruction) {
  require_device();
  const DeviceMemory memory(kBlocks * sizeof(std::uint64_t));
  check(cudaMemset(memory.data(), 0, memory.bytes()), "clearing the digests");
  dispatch(instruction, LaunchSweep{static_cast<unsigned long long*>(memory.data())});
  check(cudaGetLastError(), "launching the sweep");
  std::array<std::uint64_t, 512> digests{};
  check(cudaMemcpy(digests.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "the sweep");
  return digests;
}

std::vector<std::uint32_t> measure_block(Instruction instruction, std::uint32_t block) {
  require_device();
  const DeviceMemory memory(kInputsPerBlock * sizeof(std::uint32_t));
  dispatch(instruction, LaunchEvaluateBlock{block * kInputsPerBlock, static_cast<unsigned*>(memory.data())});
  check(cudaGetLastError(), "launching the evaluation of a block");
  std::vector<std::uint32_t> outputs(kInputsPerBlock);
  check(cudaMemcpy(outputs.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "the evaluation of a block");
  return outputs;
}

}  // namespace lsecheck::cuda
