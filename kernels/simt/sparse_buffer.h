#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>

// Memory of any size that exists only where it is touched, zeros elsewhere: for index widths no real buffer would
// reach.
namespace lsecheck::simt {

// Shared, although nobody else sees it: a process's limit of private memory (RLIMIT_DATA) must not count what is
// mapped here and never touched.
class SparseBuffer {
 public:
  explicit SparseBuffer(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseBuffer() {
    if (mapped()) munmap(data_, bytes_);
  }
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;

  bool mapped() const { return data_ != MAP_FAILED; }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(data_), bytes_}; }
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace lsecheck::simt
