#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/ptx_float.h"

// What the .cuh kernel sources see when nvcc builds them: the names of kernels/target.cuh, as PTX. The special-function
// instructions are written out, so that no math library wrapper and no compiler flag stands between a kernel and the
// instruction it names.
#define LSECHECK_KERNEL __global__
#define LSECHECK_DEVICE __device__ __forceinline__
#define LSECHECK_UNROLL _Pragma("unroll")
#define LSECHECK_SHARED_ARRAY(type, name, size) \
  __shared__ type name##_storage[size];         \
  const ::lsecheck::SharedArray<type> name(name##_storage)

namespace lsecheck {

// The machine word that moves a T in one access. Left to itself the compiler copies a struct member by member.
template <std::size_t bytes>
struct AccessWord;
template <>
struct AccessWord<2> {
  using type = std::uint16_t;
};
template <>
struct AccessWord<4> {
  using type = std::uint32_t;
};
template <>
struct AccessWord<8> {
  using type = uint2;
};
template <>
struct AccessWord<16> {
  using type = uint4;
};

template <class T>
class SharedArray {
 public:
  __device__ __forceinline__ explicit SharedArray(T* storage) : storage_(storage) {}
  __device__ __forceinline__ T load(std::size_t i) const {
    const auto word = *reinterpret_cast<const typename AccessWord<sizeof(T)>::type*>(storage_ + i);
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
  }
  __device__ __forceinline__ void store(std::size_t i, T value) const { storage_[i] = value; }
  // Starts a copy from global memory; element i may be read after the async_wait that covers its group.
  __device__ __forceinline__ void copy_async(std::size_t i, const T* from) const {
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(storage_ + i));
    if constexpr (sizeof(T) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(to), "l"(from), "n"(sizeof(T)) : "memory");
    }
  }

 private:
  T* storage_;
};

LSECHECK_DEVICE float ex2_approx_ftz(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

LSECHECK_DEVICE float lg2_approx(float x) {
  float result;
  asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

inline constexpr unsigned kFullWarp = 0xffffffffU;

LSECHECK_DEVICE float shuffle(float value, unsigned source_lane) {
  return __shfl_sync(kFullWarp, value, static_cast<int>(source_lane));
}

LSECHECK_DEVICE float shuffle_xor(float value, unsigned mask) {
  return __shfl_xor_sync(kFullWarp, value, static_cast<int>(mask));
}

// For a value that is the same in every lane: the result is in a uniform register. Without it the compiler takes a
// branch on the value for one that may split the warp, and keeps a second copy of everything behind it.
LSECHECK_DEVICE float warp_uniform(float value) {
  return __uint_as_float(__reduce_or_sync(kFullWarp, __float_as_uint(value)));
}

// redux.sync on f32 exists in the builds for sm_100a and sm_101a alone; there it is one instruction. The chips without
// it reduce by a butterfly (warp_reduce.cuh).
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
LSECHECK_DEVICE constexpr bool warp_max_is_redux() {
  return true;
}
LSECHECK_DEVICE float redux_max_nan(float value) {
  float result;
  asm volatile("redux.sync.max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(value), "r"(kFullWarp));
  return result;
}
#else
LSECHECK_DEVICE constexpr bool warp_max_is_redux() {
  return false;
}
// The same value without the instruction.
LSECHECK_DEVICE float redux_max_nan(float value) {
  for (unsigned offset = 16; offset > 0; offset /= 2) value = max_nan(value, shuffle_xor(value, offset));
  return value;
}
#endif

// Orders the warp's shared memory accesses.
LSECHECK_DEVICE void warp_barrier() {
  __syncwarp();
}

// A thread's copies since its last async_commit become one group; async_wait returns when all but the `pending` most
// recent groups of this thread have arrived, for this thread alone.
LSECHECK_DEVICE void async_commit() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
template <unsigned pending>
LSECHECK_DEVICE void async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(pending) : "memory");
}

// Barrier `id` of `threads` threads; orders their shared and global memory accesses.
LSECHECK_DEVICE void block_barrier(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

// The memory clobber keeps every load behind it.
LSECHECK_DEVICE void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" : : : "memory");
}

template <class T>
LSECHECK_DEVICE T load_global(const T* address) {
  const auto word = *reinterpret_cast<const typename AccessWord<sizeof(T)>::type*>(address);
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T>
LSECHECK_DEVICE void store_global(T* address, const T& value) {
  typename AccessWord<sizeof(T)>::type word;
  std::memcpy(&word, &value, sizeof(T));
  *reinterpret_cast<typename AccessWord<sizeof(T)>::type*>(address) = word;
}

}  // namespace lsecheck
