#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lsecheck {

// A copy of some bytes for foreign code, at a multiple of 64, between two bands of bits that are NaN in every type.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::span<const std::byte> content);

  std::byte* data() { return begin_; }
  std::span<const std::byte> content() const { return {begin_, size_}; }
  bool bands_intact() const;

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_;
  std::size_t size_;
};

}  // namespace lsecheck
