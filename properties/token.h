#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "properties/case_spec.h"

// A case and a law as one word to paste: "lse1-" and the base32 (RFC 4648 alphabet in lower case, no padding) of
//
//   generator version  u16, little-endian; first, so that it can be read whatever follows
//   law                u8
//   kernel and sink    one byte of two 4-bit fields, high then low
//   six bytes          of two 4-bit fields each, high then low: arch and selection, out and partial, lse and values,
//                      empties and garbage, exponent and mass, unit and schedule
//   shape              num_partitions, rows, heads, ov_depth, each LEB128 in its shortest form
//   unit seed          u64, little-endian; only for the spec unit
//   seed               u64, little-endian
//   checksum           CRC-32 of "lse1" and all bytes above, little-endian
//
// CRC-32 detects every burst of up to 32 bits, so no change of one character, and no swap of two neighbours, goes
// unnoticed. A case has exactly one token, of fewer than 70 characters.
namespace lsecheck {

struct Token {
  std::uint8_t law = 0;
  CaseSpec spec;

  bool operator==(const Token&) const = default;
};

// One clear line: what is wrong with the text.
struct MalformedToken {
  std::string message;
};

// Well-formed, but written by a version that expands specs to other bits.
struct OtherGeneratorVersion {
  int version = 0;
};

using ParsedToken = std::variant<Token, MalformedToken, OtherGeneratorVersion>;

// Throws std::invalid_argument where spec_error() has a line.
std::string format_token(const Token& token);

// The word of a payload (everything between "lse1-" and the checksum), whatever it holds: what another version, or
// nobody, would write.
std::string seal_token(std::span<const std::uint8_t> payload);

// Any bytes are handled; a parsed Token's spec passes spec_error().
ParsedToken parse_token(std::string_view text);

}  // namespace lsecheck
