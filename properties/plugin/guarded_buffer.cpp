#include "properties/plugin/guarded_buffer.h"

#include <cstdint>
#include <cstring>

namespace lsecheck {
namespace {

constexpr std::size_t kAlignment = 64;
// An index that is off by a row of 4096 f32 still lands here.
constexpr std::size_t kBand = 16384;
constexpr std::byte kNaNByte{0xff};

// Every byte is the one before it.
bool is_band(const std::byte* begin) {
  return *begin == kNaNByte && std::memcmp(begin, begin + 1, kBand - 1) == 0;
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::span<const std::byte> content)
    : memory_(content.size() + 2 * kBand + kAlignment, kNaNByte), size_(content.size()) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory_.data()) + kBand;
  begin_ = memory_.data() + kBand + (kAlignment - first % kAlignment) % kAlignment;
  if (!content.empty()) std::memcpy(begin_, content.data(), content.size());
}

bool GuardedBuffer::bands_intact() const {
  return is_band(begin_ - kBand) && is_band(begin_ + size_);
}

}  // namespace lsecheck
