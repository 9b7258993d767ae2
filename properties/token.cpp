#include "properties/token.h"

#include <boost/crc.hpp>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "properties/base32.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

constexpr std::string_view kPrefix = "lse1-";
constexpr std::string_view kSchema = "lse1";
constexpr std::size_t kMaxCharacters = 100;  // no token is nearly as long
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kChecksumBytes = 4;

using Bytes = std::vector<std::uint8_t>;

std::uint32_t checksum(std::span<const std::uint8_t> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(kSchema.data(), kSchema.size());
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

void put_fixed(Bytes& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i) & 0xff));
}

void put_varint(Bytes& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<std::uint8_t>(value & 0x7f) | 0x80);
    value >>= 7;
  }
  bytes.push_back(static_cast<std::uint8_t>(value));
}

template <typename High, typename Low>
std::uint8_t nibbles(High high, Low low) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(high) << 4 | static_cast<unsigned>(low));
}

// Reads past the end give zeros and clear ok(); the caller looks once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  std::uint8_t byte() {
    if (bytes_.empty()) {
      ok_ = false;
      return 0;
    }
    const std::uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
    return value;
  }

  // LEB128 in its shortest form, into a field that holds it.
  template <typename Unsigned>
  void varint(Unsigned& field) {
    constexpr std::uint64_t limit = std::numeric_limits<Unsigned>::max();
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) {
        if ((next == 0 && shift > 0) || value > limit) ok_ = false;
        field = static_cast<Unsigned>(value);
        return;
      }
    }
    ok_ = false;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool ok_ = true;
};

template <typename High, typename Low>
void split_nibbles(std::uint8_t byte, High& high, Low& low) {
  high = static_cast<High>(byte >> 4);
  low = static_cast<Low>(byte & 15);
}

Token read_token(Reader& reader) {
  Token token;
  CaseSpec& spec = token.spec;
  token.law = reader.byte();
  split_nibbles(reader.byte(), spec.kernel, spec.sink);
  split_nibbles(reader.byte(), spec.arch, spec.selection);
  split_nibbles(reader.byte(), spec.out, spec.partial);
  split_nibbles(reader.byte(), spec.lse, spec.values);
  split_nibbles(reader.byte(), spec.empties, spec.garbage);
  split_nibbles(reader.byte(), spec.exponent, spec.mass);
  split_nibbles(reader.byte(), spec.unit.kind, spec.schedule);
  reader.varint(spec.num_partitions);
  reader.varint(spec.rows);
  reader.varint(spec.heads);
  reader.varint(spec.ov_depth);
  if (spec.unit.kind == sfu::UnitKind::spec) spec.unit.seed = reader.fixed(8);
  spec.seed = reader.fixed(8);
  return token;
}

ParsedToken malformed(std::string message) {
  return MalformedToken{"token: " + std::move(message)};
}

ParsedToken parse_payload(std::span<const std::uint8_t> payload) {
  Reader reader(payload);
  const auto version = static_cast<int>(reader.fixed(kVersionBytes));
  if (version != kGeneratorVersion) return OtherGeneratorVersion{version};
  const Token token = read_token(reader);
  if (!reader.ok() || !reader.at_end()) {
    return malformed("its checksum is right but its fields do not fill it; it was not written by lsecheck");
  }
  if (const auto error = spec_error(token.spec)) return malformed(*error);
  return token;
}

// The text can hold anything, and goes to a terminal.
std::string printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7f) return std::string("'") + c + "'";
  constexpr std::string_view kHex = "0123456789abcdef";
  return std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

}  // namespace

std::string format_token(const Token& token) {
  const CaseSpec& spec = token.spec;
  if (const auto error = spec_error(spec)) throw std::invalid_argument(*error);
  Bytes bytes;
  put_fixed(bytes, static_cast<std::uint64_t>(kGeneratorVersion), kVersionBytes);
  bytes.push_back(token.law);
  bytes.push_back(nibbles(spec.kernel, spec.sink));
  bytes.push_back(nibbles(spec.arch, spec.selection));
  bytes.push_back(nibbles(spec.out, spec.partial));
  bytes.push_back(nibbles(spec.lse, spec.values));
  bytes.push_back(nibbles(spec.empties, spec.garbage));
  bytes.push_back(nibbles(spec.exponent, spec.mass));
  bytes.push_back(nibbles(spec.unit.kind, spec.schedule));
  put_varint(bytes, spec.num_partitions);
  put_varint(bytes, spec.rows);
  put_varint(bytes, spec.heads);
  put_varint(bytes, spec.ov_depth);
  if (spec.unit.kind == sfu::UnitKind::spec) put_fixed(bytes, spec.unit.seed, 8);
  put_fixed(bytes, spec.seed, 8);
  return seal_token(bytes);
}

std::string seal_token(std::span<const std::uint8_t> payload) {
  Bytes bytes(payload.begin(), payload.end());
  put_fixed(bytes, checksum(payload), kChecksumBytes);
  return std::string(kPrefix) + base32_encode(bytes);
}

ParsedToken parse_token(std::string_view text) {
  if (!text.starts_with(kPrefix)) return malformed("it must begin with lse1-; copy the whole word of the repro line");
  const std::string_view digits = text.substr(kPrefix.size());
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (kBase32Alphabet.find(digits[i]) == std::string_view::npos) {
      return malformed("character " + std::to_string(kPrefix.size() + i + 1) + " is " + printable(digits[i]) +
                       "; only a-z and 2-7 follow lse1-");
    }
  }
  if (text.size() > kMaxCharacters) return malformed("too long; two tokens may have run together");
  const auto bytes = base32_decode(digits);
  if (!bytes) return malformed("cut short or mistyped: its last character does not fit its length");
  if (bytes->size() < kVersionBytes + kChecksumBytes) return malformed("too short; copy the whole word");
  const auto payload = std::span(*bytes).first(bytes->size() - kChecksumBytes);
  Reader stored{std::span(*bytes).last(kChecksumBytes)};
  if (stored.fixed(kChecksumBytes) != checksum(payload)) {
    return malformed("checksum mismatch; a character is wrong or missing, copy the token again");
  }
  return parse_payload(payload);
}

}  // namespace lsecheck
