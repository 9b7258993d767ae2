#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>

#include "kernels/ptx_float.h"
#include "kernels/simt/block_runner.h"

// What the .cuh kernel sources see when the host compiler builds them: the names of kernels/target.cuh, run by the
// executor.
#define LSECHECK_KERNEL
#define LSECHECK_DEVICE [[gnu::always_inline]] inline
#define LSECHECK_UNROLL
#define threadIdx (::lsecheck::simt::BlockRunner::current().thread_index())
#define blockIdx (::lsecheck::simt::BlockRunner::current().block_index())
#define LSECHECK_SHARED_ARRAY(type, name, size)   \
  static const char name##_site = 0;              \
  const ::lsecheck::simt::SharedArray<type> name( \
      ::lsecheck::simt::BlockRunner::current().shared_storage(&name##_site, size, sizeof(type)), size)

namespace lsecheck {

namespace simt {

// Shared memory with written bits: reading what this block has not written is a fault.
template <class T>
class SharedArray {
 public:
  SharedArray(BlockRunner::SharedStorage& storage, std::size_t size) : storage_(&storage), size_(size) {}

  T load(std::size_t i, std::source_location where = std::source_location::current()) const {
    check_index(i, where);
    if (storage_->written_epoch[i] != BlockRunner::current().epoch()) {
      BlockRunner::current().fault(FaultKind::unwritten_shared_read,
                                   "reads shared element " + std::to_string(i) + " that no thread has written", where);
    }
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
    if (i >= size_) {
      BlockRunner::current().fault(FaultKind::shared_out_of_range,
                                   "uses shared element " + std::to_string(i) + " of " + std::to_string(size_), where);
    }
  }
  BlockRunner::SharedStorage* storage_;
  std::size_t size_;
};

}  // namespace simt

using simt::SharedArray;
using SourceLocation = std::source_location;

inline float ex2_approx_ftz(float x) {
  return sfu::ex2_approx_ftz(simt::BlockRunner::current().launch().unit, x);
}
inline float lg2_approx(float x) {
  return sfu::lg2_approx(simt::BlockRunner::current().launch().unit, x);
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
