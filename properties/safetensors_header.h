#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The JSON header of a .safetensors file, parsed without trust in it.
namespace lsecheck {

struct SafetensorsHeader {
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // offsets into the data that follows the header
    std::uint64_t end = 0;
  };
  std::vector<Tensor> tensors;  // in the header's order
  std::map<std::string, std::string> metadata;
};

// Limits that keep the memory for a hostile header within a small multiple of its size.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own
inline constexpr std::size_t kMaxTensors = 65536;
inline constexpr std::size_t kMaxRank = 64;

// `path` is for the message only. Throws FileError (unreadable).
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json);

// A name out of a file for a message: in backquotes, one line and short whatever it holds.
std::string quoted_name(std::string_view name);

// Bits of one element of a dtype of the format ("F32": 32, "F4": 4); nullopt for a name the format does not have.
std::optional<unsigned> safetensors_dtype_bits(std::string_view dtype);

}  // namespace lsecheck
