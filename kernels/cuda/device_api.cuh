#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/ptx_float.h"

// What the .cuh kernel sources see when nvcc builds them: the names of kernels/target.cuh, as PTX. The special-function
// instructions are written out, so that no math library wrapper and no compiler flag stands between a kernel and the
// instruction it names.
#define LSECHECK_KERNEL __global__
#define LSECHECK_LAUNCH_BOUNDS(threads) __launch_bounds__(threads)
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

// The block's dynamic shared memory; how many bytes is said at the launch.
struct DynamicShared {
  unsigned char* bytes;
};
extern __shared__ uint4 lsecheck_dynamic_shared[];
#define LSECHECK_DYNAMIC_SHARED(name, bytes)                              \
  const ::lsecheck::DynamicShared name {                                  \
    reinterpret_cast<unsigned char*>(::lsecheck::lsecheck_dynamic_shared) \
  }

// `count` elements of T from byte_offset (a multiple of 16) on.
template <class T>
class SharedWindow {
 public:
  __device__ __forceinline__ SharedWindow(const DynamicShared& memory, std::size_t byte_offset, std::size_t)
      : storage_(reinterpret_cast<T*>(memory.bytes + byte_offset)) {}
  __device__ __forceinline__ T load(std::size_t i) const { return storage_[i]; }
  __device__ __forceinline__ void store(std::size_t i, const T& value) const { storage_[i] = value; }

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

LSECHECK_DEVICE float rcp_approx_ftz(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
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

// kColumns columns of tensor memory (TMEM), allocated by a block of `threads` threads and released by it; a thread
// reaches the lane that its place in the warpgroup gives it. Moves of 16 columns, each by all lanes of a warp together.
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
template <unsigned kColumns>
class TensorMemory {
 public:
  __device__ __forceinline__ explicit TensorMemory(unsigned threads) {
    __shared__ std::uint32_t base;
    if (threadIdx.x < 32) {
      const auto slot = static_cast<std::uint32_t>(__cvta_generic_to_shared(&base));
      asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                   :
                   : "r"(slot), "n"(kColumns)
                   : "memory");
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" : : : "memory");
    }
    block_barrier(kBarrier, threads);
    base_ = base;
  }
  __device__ __forceinline__ void release(unsigned threads) const {
    block_barrier(kBarrier, threads);
    if (threadIdx.x >= 32) return;
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" : : "r"(base_), "n"(kColumns) : "memory");
  }

  __device__ __forceinline__ void store(unsigned lane_base, unsigned column, const float (&v)[16]) {
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16};"
        :
        : "r"(address(lane_base, column)), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]),
          "f"(v[7]), "f"(v[8]), "f"(v[9]), "f"(v[10]), "f"(v[11]), "f"(v[12]), "f"(v[13]), "f"(v[14]), "f"(v[15])
        : "memory");
  }
  __device__ __forceinline__ void wait_stores() { asm volatile("tcgen05.wait::st.sync.aligned;" : : : "memory"); }
  // The wait stands in the same statement: nothing can use the registers before it.
  __device__ __forceinline__ void load(unsigned lane_base, unsigned column, float (&v)[16]) const {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15}, [%16];\n\t"
        "tcgen05.wait::ld.sync.aligned;"
        : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]), "=f"(v[8]),
          "=f"(v[9]), "=f"(v[10]), "=f"(v[11]), "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15])
        : "r"(address(lane_base, column))
        : "memory");
  }

 private:
  static constexpr unsigned kBarrier = 15;
  __device__ __forceinline__ std::uint32_t address(unsigned lane_base, unsigned column) const {
    return base_ + (lane_base << 16) + column;
  }
  std::uint32_t base_;
};
#else
// A chip without it: a thread's own lane is all it may reach, so its cells are the thread's own.
template <unsigned kColumns>
class TensorMemory {
 public:
  __device__ __forceinline__ explicit TensorMemory(unsigned) {}
  __device__ __forceinline__ void release(unsigned) const {}
  __device__ __forceinline__ void store(unsigned, unsigned column, const float (&v)[16]) {
    LSECHECK_UNROLL
    for (unsigned i = 0; i < 16; ++i) cell_[column + i] = v[i];
  }
  __device__ __forceinline__ void wait_stores() {}
  __device__ __forceinline__ void load(unsigned, unsigned column, float (&v)[16]) const {
    LSECHECK_UNROLL
    for (unsigned i = 0; i < 16; ++i) v[i] = cell_[column + i];
  }

 private:
  float cell_[kColumns];
};
#endif

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
