#include "properties/base32.h"

namespace lsecheck {

std::string base32_encode(std::span<const std::uint8_t> bytes) {
  std::string text;
  std::uint32_t pending = 0;  // the low `count` bits are still to be written
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    pending = (pending << 8 | byte) & 0xfff;
    count += 8;
    while (count >= 5) {
      count -= 5;
      text += kBase32Alphabet[pending >> count & 31];
    }
  }
  if (count > 0) text += kBase32Alphabet[pending << (5 - count) & 31];
  return text;
}

std::optional<std::vector<std::uint8_t>> base32_decode(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t pending = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kBase32Alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    pending = (pending << 5 | static_cast<std::uint32_t>(digit)) & 0xfff;
    count += 5;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::uint8_t>(pending >> count & 0xff));
    }
  }
  const bool unused_bits_set = (pending & ((1u << count) - 1)) != 0;
  if (count >= 5 || unused_bits_set) return std::nullopt;
  return bytes;
}

}  // namespace lsecheck
