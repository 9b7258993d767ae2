#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <string>

#include "kernels/ptx_float.h"
#include "kernels/simt/block_runner.h"

// What the .cuh kernel sources see when the host compiler builds them: the names of kernels/target.cuh, run by the
// executor.
#define LSECHECK_KERNEL
#define LSECHECK_LAUNCH_BOUNDS(threads)
#define LSECHECK_DEVICE LSECHECK_ALWAYS_INLINE inline
#define LSECHECK_UNROLL
#define threadIdx (::lsecheck::simt::BlockRunner::current().thread_index())
#define blockIdx (::lsecheck::simt::BlockRunner::current().block_index())
#define LSECHECK_SHARED_ARRAY(type, name, size)   \
  static const char name##_site = 0;              \
  const ::lsecheck::simt::SharedArray<type> name( \
      ::lsecheck::simt::BlockRunner::current().shared_storage(&name##_site, size, sizeof(type)), size)

namespace lsecheck {

namespace simt {

// Faults of shared memory. Out of line: every access of every kernel would carry the code that makes their texts.
[[noreturn]] void unwritten_element(const char* name, std::size_t i, const std::source_location& where);
[[noreturn]] void element_outside(const char* name, std::size_t i, std::size_t size, const std::source_location& where);

// Shared memory with written bits: reading what this block has not written is a fault.
template <class T>
class SharedArray {
 public:
  SharedArray(BlockRunner::SharedStorage& storage, std::size_t size) : storage_(&storage), size_(size) {}

  T load(std::size_t i, std::source_location where = std::source_location::current()) const {
    check_index(i, where);
    if (storage_->written_epoch[i] != BlockRunner::current().epoch()) unwritten_element("shared element", i, where);
    T value;
    std::memcpy(&value, storage_->bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  void store(std::size_t i, T value, std::source_location where = std::source_location::current()) const {
    check_index(i, where);
    storage_->written_epoch[i] = BlockRunner::current().epoch();
    std::memcpy(storage_->bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  // Element i counts as unwritten until the async_wait that covers the copy's group.
  void copy_async(std::size_t i, const T* from, std::source_location where = std::source_location::current()) const {
    check_index(i, where);
    BlockRunner::current().check_load(from, sizeof(T), alignof(T), where);
    BlockRunner::current().copy_async(*storage_, i, from, sizeof(T));
  }

 private:
  void check_index(std::size_t i, const std::source_location& where) const {
    if (i >= size_) element_outside("shared element", i, size_, where);
  }
  BlockRunner::SharedStorage* storage_;
  std::size_t size_;
};

}  // namespace simt

using simt::SharedArray;
using SourceLocation = std::source_location;

// The block's dynamic shared memory, written bits and all, in granules of 8 bytes. Windows into it may not be left, but
// may overlap where the kernel lays them out so.
#define LSECHECK_DYNAMIC_SHARED(name, bytes)                                                    \
  static const char name##_site = 0;                                                            \
  const ::lsecheck::DynamicShared name {                                                        \
    ::lsecheck::simt::BlockRunner::current().shared_storage(&name##_site, ((bytes) + 7) / 8, 8) \
  }
struct DynamicShared {
  simt::BlockRunner::SharedStorage& storage;
};

// `count` elements of T from byte_offset (a multiple of 16) on.
template <class T>
class SharedWindow {
 public:
  SharedWindow(const DynamicShared& memory, std::size_t byte_offset, std::size_t count)
      : storage_(&memory.storage), first_(byte_offset / 8), count_(count) {}

  T load(std::size_t i, SourceLocation where = SourceLocation::current()) const {
    check_index(i, where);
    for (std::size_t granule = 0; granule < kGranules; ++granule) {
      if (storage_->written_epoch[first_ + i * kGranules + granule] == simt::BlockRunner::current().epoch()) continue;
      simt::unwritten_element(kName, i, where);
    }
    T value;
    std::memcpy(&value, storage_->bytes.data() + first_ * 8 + i * sizeof(T), sizeof(T));
    return value;
  }
  void store(std::size_t i, const T& value, SourceLocation where = SourceLocation::current()) const {
    check_index(i, where);
    for (std::size_t granule = 0; granule < kGranules; ++granule) {
      storage_->written_epoch[first_ + i * kGranules + granule] = simt::BlockRunner::current().epoch();
    }
    std::memcpy(storage_->bytes.data() + first_ * 8 + i * sizeof(T), &value, sizeof(T));
  }

 private:
  static_assert(sizeof(T) % 8 == 0, "written bits are kept for 8 bytes at a time");
  static constexpr std::size_t kGranules = sizeof(T) / 8;
  static constexpr const char* kName = "shared window element";

  void check_index(std::size_t i, const SourceLocation& where) const {
    if (i < count_ && first_ + (i + 1) * kGranules <= storage_->written_epoch.size()) return;
    simt::element_outside(kName, i, count_, where);
  }
  simt::BlockRunner::SharedStorage* storage_;
  std::size_t first_;
  std::size_t count_;
};

inline float ex2_approx_ftz(float x) {
  return sfu::ex2_approx_ftz(simt::BlockRunner::current().launch().unit, x);
}
inline float lg2_approx(float x) {
  return sfu::lg2_approx(simt::BlockRunner::current().launch().unit, x);
}
inline float rcp_approx_ftz(float x) {
  return sfu::rcp_approx_ftz(simt::BlockRunner::current().launch().unit, x);
}

LSECHECK_DEVICE float shuffle(float value, unsigned source_lane, SourceLocation where = SourceLocation::current()) {
  const auto* values = simt::BlockRunner::current().exchange({"shuffle", where}, std::bit_cast<std::uint32_t>(value));
  return std::bit_cast<float>(values[source_lane % 32]);
}

LSECHECK_DEVICE float shuffle_xor(float value, unsigned mask, SourceLocation where = SourceLocation::current()) {
  simt::BlockRunner& runner = simt::BlockRunner::current();
  const unsigned source_lane = (runner.lane() ^ mask) % 32;
  return std::bit_cast<float>(
      runner.exchange({"shuffle_xor", where}, std::bit_cast<std::uint32_t>(value))[source_lane]);
}

// redux.sync.max.NaN.f32: one instruction on sm_100a, any NaN lane makes the result NaN.
LSECHECK_DEVICE float redux_max_nan(float value, SourceLocation where = SourceLocation::current()) {
  const auto* values = simt::BlockRunner::current().exchange({"redux", where}, std::bit_cast<std::uint32_t>(value));
  float result = std::bit_cast<float>(values[0]);
  for (unsigned lane = 1; lane < 32; ++lane) result = max_nan(result, std::bit_cast<float>(values[lane]));
  return result;
}

// On a GPU this tells the compiler that every lane holds the value; here nobody needs to be told.
inline float warp_uniform(float value) {
  return value;
}

inline bool warp_max_is_redux() {
  return simt::BlockRunner::current().launch().arch == Arch::sm_100a;
}

inline void warp_barrier(SourceLocation where = SourceLocation::current()) {
  simt::BlockRunner::current().exchange({"warp_barrier", where}, 0);
}

inline void async_commit() {
  simt::BlockRunner::current().async_commit();
}
template <unsigned pending>
void async_wait() {
  simt::BlockRunner::current().async_wait(pending);
}

inline void block_barrier(unsigned id, unsigned threads, SourceLocation where = SourceLocation::current()) {
  simt::BlockRunner::current().barrier(id, threads, where);
}

// kColumns columns of tensor memory, allocated by a block of `threads` threads and released by it; a thread reaches the
// lane that its place in the warpgroup gives it. Moves of kCount columns, each by all lanes of a warp together.
template <unsigned kColumns>
class TensorMemory {
 public:
  explicit TensorMemory(unsigned threads, SourceLocation where = SourceLocation::current()) {
    simt::BlockRunner& runner = simt::BlockRunner::current();
    if (runner.thread() == 0) fault_if(runner.tensor_memory().allocate(kColumns), where);
    block_barrier(kBarrier, threads, where);
  }
  void release(unsigned threads, SourceLocation where = SourceLocation::current()) const {
    block_barrier(kBarrier, threads, where);
    simt::BlockRunner& runner = simt::BlockRunner::current();
    if (runner.thread() == 0) fault_if(runner.tensor_memory().release(kColumns), where);
  }

  template <unsigned kCount>
  void store(unsigned lane_base, unsigned column, const float (&values)[kCount],
             SourceLocation where = SourceLocation::current()) {
    simt::BlockRunner& runner = simt::BlockRunner::current();
    meet("tcgen05.st", lane_base, column, where);
    fault_if(runner.tensor_memory().store(runner.thread(), lane_base, column, values), where);
  }
  void wait_stores() {}
  template <unsigned kCount>
  void load(unsigned lane_base, unsigned column, float (&values)[kCount],
            SourceLocation where = SourceLocation::current()) const {
    simt::BlockRunner& runner = simt::BlockRunner::current();
    meet("tcgen05.ld", lane_base, column, where);
    fault_if(runner.tensor_memory().load(runner.thread(), lane_base, column, values), where);
  }

 private:
  static constexpr unsigned kBarrier = 15;

  // One instruction of the whole warp, with one address.
  static void meet(const char* instruction, unsigned lane_base, unsigned column, const SourceLocation& where) {
    const std::uint32_t address = lane_base << 16 | column;
    const std::uint32_t first = simt::BlockRunner::current().exchange({instruction, where}, address)[0];
    if (first != address) fault_if(std::string(instruction) + " with an address that differs between lanes", where);
  }
  static void fault_if(const std::optional<std::string>& wrong, const SourceLocation& where) {
    if (wrong) simt::BlockRunner::current().fault(simt::FaultKind::tensor_memory, *wrong, where);
  }
};

inline void grid_dependency_wait() {
  simt::BlockRunner::current().dependency_wait();
}

template <class T>
T load_global(const T* address, SourceLocation where = SourceLocation::current()) {
  simt::BlockRunner::current().check_load(address, sizeof(T), alignof(T), where);
  return *address;
}

template <class T>
void store_global(T* address, const T& value, SourceLocation where = SourceLocation::current()) {
  simt::BlockRunner::current().check_store(address, sizeof(T), alignof(T), where);
  *address = value;
}

}  // namespace lsecheck
