/* A plugin for lsecheck whose kernel runs on a GPU: a block per row-head, a thread per column, an online maximum.
 *
 *   nvcc -O2 -arch=sm_90 -shared -Xcompiler -fPIC -o libexample_cuda.so example_combine.cu
 *   lsecheck run --plugin ./libexample_cuda.so
 */
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "lsecheck_plugin.h"

namespace {

__device__ float as_float(float value) {
  return value;
}
__device__ float as_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ void assign(float& out, float value) {
  out = value;
}
__device__ void assign(__nv_bfloat16& out, float value) {
  out = __float2bfloat16_rn(value);
}

template <typename Out, typename Partial>
__global__ void combine_rows(const float* lse, const Partial* o, Out* output, unsigned num_partitions, size_t rows) {
  const size_t row = blockIdx.x;
  const size_t element = row * blockDim.x + threadIdx.x;
  float max = -INFINITY, sum = 0, accumulator = 0;
  for (size_t p = 0; p < num_partitions; ++p) {
    const float l = lse[p * rows + row];
    if (l == -INFINITY) continue;  // what lies under an empty partition may be NaN
    const float larger = fmaxf(max, l);
    const float rescale = exp2f(max - larger), weight = exp2f(l - larger);
    sum = sum * rescale + weight;
    accumulator = accumulator * rescale + weight * as_float(o[p * rows * blockDim.x + element]);
    max = larger;
  }
  assign(output[element], sum > 0 ? accumulator / sum : 0.0f);
}

// Device memory that is freed where the call ends.
struct DeviceBuffer {
  explicit DeviceBuffer(size_t bytes) { error = cudaMalloc(&data, bytes); }
  ~DeviceBuffer() { cudaFree(data); }
  void* data = nullptr;
  cudaError_t error;
};

template <typename Out, typename Partial>
cudaError_t launch(const lsecheck_combine_call* call) {
  const size_t rows = size_t{call->rows} * call->heads;
  const size_t lse_bytes = call->num_partitions * rows * sizeof(float);
  const size_t o_bytes = call->num_partitions * rows * call->ov_depth * sizeof(Partial);
  const size_t out_bytes = rows * call->ov_depth * sizeof(Out);
  DeviceBuffer lse(lse_bytes), o(o_bytes), output(out_bytes);
  for (cudaError_t error :
       {lse.error, o.error, output.error, cudaMemcpy(lse.data, call->lse_partial, lse_bytes, cudaMemcpyHostToDevice),
        cudaMemcpy(o.data, call->o_partial, o_bytes, cudaMemcpyHostToDevice)}) {
    if (error != cudaSuccess) return error;
  }
  combine_rows<<<static_cast<unsigned>(rows), call->ov_depth>>>(
      static_cast<const float*>(lse.data), static_cast<const Partial*>(o.data), static_cast<Out*>(output.data),
      call->num_partitions, rows);
  if (cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  return cudaMemcpy(call->output, output.data, out_bytes, cudaMemcpyDeviceToHost);
}

int combine(const lsecheck_combine_call* call) {
  const cudaError_t error =
      call->partial_type == LSECHECK_F32
          ? (call->out_type == LSECHECK_F32 ? launch<float, float>(call) : launch<__nv_bfloat16, float>(call))
          : launch<__nv_bfloat16, __nv_bfloat16>(call);
  if (error == cudaSuccess) return 0;
  // What a context does not survive, such as an illegal access, breaks every later call in this process, too: it has to
  // end, as one that crashes does, and lsecheck starts another.
  if (error >= cudaErrorIllegalAddress) {
    fprintf(stderr, "example_cuda: %s\n", cudaGetErrorString(error));
    abort();
  }
  snprintf(call->error, call->error_size, "%s", cudaGetErrorString(error));
  return 1;
}

const uint32_t depths[] = {64, 128, 256};
const lsecheck_type_pair types[] = {
    {LSECHECK_F32, LSECHECK_F32}, {LSECHECK_BF16, LSECHECK_BF16}, {LSECHECK_BF16, LSECHECK_F32}};
const lsecheck_plugin plugin = {LSECHECK_PLUGIN_ABI,
                                sizeof(lsecheck_plugin),
                                "example_cuda",
                                LSECHECK_LSE_LOG2,
                                LSECHECK_ONLINE,
                                LSECHECK_F32,
                                LSECHECK_ZEROS,
                                LSECHECK_GARBAGE_ANYTHING,
                                LSECHECK_BITS_SAME_ROW,
                                1,
                                160,
                                depths,
                                sizeof depths / sizeof depths[0],
                                types,
                                sizeof types / sizeof types[0],
                                combine};

}  // namespace

const lsecheck_plugin* lsecheck_plugin_v1() {
  return &plugin;
}
