#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/whole_file.h"
#include "reference/float_format.h"

// The .safetensors format: an 8-byte little-endian header length, a JSON header
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "value"}}
// and the data, which the tensors fill from offset 0 without holes or overlap. What is written here loads in PyTorch
// and NumPy.
namespace lsecheck {

struct SafetensorsTensor {
  std::string dtype_name;            // as in the file: "BF16", "F16", "F32", or another one of the format, "I64"
  std::optional<DType> dtype;        // the type, when it is one of the three in use here
  std::vector<std::uint64_t> shape;  // the product does not overflow
  std::span<const std::byte> data;   // little-endian, row-major; into SafetensorsFile::bytes

  std::uint64_t num_elements() const;
  // The bits of element i; 16-bit types in the low half. Only where dtype holds a value.
  std::uint32_t bits(std::size_t i) const;
};

// Bytes of the file and views into them; moving keeps the views valid, copying would not.
class SafetensorsFile {
 public:
  SafetensorsFile(std::string path, std::vector<std::byte> bytes);  // throws FileError (unreadable)
  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;

  const std::string& path() const { return path_; }
  std::uint64_t size_in_bytes() const { return bytes_.size(); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, SafetensorsTensor>& tensors() const { return tensors_; }

  // nullptr when there is none of that name.
  const SafetensorsTensor* find(const std::string& name) const;
  // Throws FileError (unreadable) when there is none, or when its type is not BF16, F16 or F32.
  const SafetensorsTensor& float_tensor(const std::string& name) const;

 private:
  std::string path_;
  std::vector<std::byte> bytes_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafetensorsTensor> tensors_;
};

// Trusts nothing in the file. Throws FileError; a file above max_bytes is refused before memory is taken for it.
SafetensorsFile read_safetensors(const std::string& path, std::uint64_t max_bytes);

struct SafetensorsEntry {
  std::string name;  // UTF-8, not "__metadata__", distinct
  DType dtype;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;  // size_of(dtype) times the product of shape
};

// Data in the order of `tensors`. Atomic: see write_file_atomically. Throws FileError (environment), and
// std::invalid_argument for entries that make no valid file.
void write_safetensors(const std::string& path, std::span<const SafetensorsEntry> tensors,
                       const std::map<std::string, std::string>& metadata);

std::string shape_text(std::span<const std::uint64_t> shape);  // "[2, 3]"

}  // namespace lsecheck
