#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// RFC 4648 base32 in lower case and without padding.
namespace lsecheck {

inline constexpr std::string_view kBase32Alphabet = "abcdefghijklmnopqrstuvwxyz234567";

std::string base32_encode(std::span<const std::uint8_t> bytes);

// nullopt for a character outside the alphabet and for text that base32_encode would not write (a length no byte string
// has, or set bits after the last byte).
std::optional<std::vector<std::uint8_t>> base32_decode(std::string_view text);

}  // namespace lsecheck
