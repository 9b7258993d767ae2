#include "properties/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "properties/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lsecheck {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's data are used in place");

constexpr std::size_t kLengthBytes = 8;

constexpr std::pair<DType, const char*> kDTypeNames[] = {
    {DType::bf16, "BF16"}, {DType::f16, "F16"}, {DType::f32, "F32"}};

std::optional<DType> dtype_in_use(std::string_view name) {
  for (const auto& [dtype, dtype_name] : kDTypeNames) {
    if (name == dtype_name) return dtype;
  }
  return std::nullopt;
}

const char* file_name_of(DType dtype) {
  for (const auto& [candidate, name] : kDTypeNames) {
    if (candidate == dtype) return name;
  }
  throw std::invalid_argument("no dtype");
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw FileError(FileErrorKind::unreadable, path, reason);
}

// nullopt when the product overflows.
std::optional<std::uint64_t> product(std::span<const std::uint64_t> shape) {
  std::uint64_t result = 1;
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(result, extent, &result)) return std::nullopt;
  }
  return result;
}

// Bytes the tensor needs by its dtype and shape.
std::uint64_t required_bytes(const std::string& path, const SafetensorsHeader::Tensor& tensor) {
  const auto bits_per_element = safetensors_dtype_bits(tensor.dtype);
  if (!bits_per_element) {
    refuse(path,
           fmt::format("tensor {} has the unknown dtype {}", quoted_name(tensor.name), quoted_name(tensor.dtype)));
  }
  const auto elements = product(tensor.shape);
  std::uint64_t bits = 0;
  if (!elements || __builtin_mul_overflow(*elements, *bits_per_element, &bits)) {
    refuse(path, fmt::format("tensor {}: the size of shape {} overflows", quoted_name(tensor.name),
                             shape_text(tensor.shape)));
  }
  if (bits % 8 != 0) {
    refuse(path, fmt::format("tensor {}: {} elements of {} do not fill whole bytes", quoted_name(tensor.name),
                             *elements, tensor.dtype));
  }
  return bits / 8;
}

void check_extent(const std::string& path, const SafetensorsHeader::Tensor& tensor, std::uint64_t data_bytes) {
  if (tensor.begin > tensor.end) {
    refuse(path, fmt::format("tensor {}: data_offsets [{}, {}] end before they begin", quoted_name(tensor.name),
                             tensor.begin, tensor.end));
  }
  if (tensor.end > data_bytes) {
    refuse(path, fmt::format("tensor {}: data_offsets [{}, {}] reach past the {} data bytes of the file",
                             quoted_name(tensor.name), tensor.begin, tensor.end, data_bytes));
  }
  const std::uint64_t required = required_bytes(path, tensor);
  if (tensor.end - tensor.begin != required) {
    refuse(path, fmt::format("tensor {}: data_offsets hold {} bytes, {} {} needs {}", quoted_name(tensor.name),
                             tensor.end - tensor.begin, tensor.dtype, shape_text(tensor.shape), required));
  }
}

// Every data byte belongs to exactly one tensor.
void check_tiling(const std::string& path, std::vector<SafetensorsHeader::Tensor>& tensors, std::uint64_t data_bytes) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& left, const auto& right) {
    return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
  });
  std::uint64_t filled = 0;
  for (const auto& tensor : tensors) {
    if (tensor.begin < filled) {
      refuse(path, fmt::format("tensor {} begins at {}, inside another tensor that ends at {}",
                               quoted_name(tensor.name), tensor.begin, filled));
    }
    if (tensor.begin > filled) {
      refuse(path, fmt::format("tensor {} begins at {}: bytes {} to {} belong to no tensor", quoted_name(tensor.name),
                               tensor.begin, filled, tensor.begin));
    }
    filled = tensor.end;
  }
  if (filled != data_bytes) {
    refuse(path, fmt::format("{} bytes after the last tensor belong to none", data_bytes - filled));
  }
}

}  // namespace

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::uint64_t SafetensorsTensor::num_elements() const {
  return *product(shape);
}

std::uint32_t SafetensorsTensor::bits(std::size_t i) const {
  std::uint32_t value = 0;
  const std::size_t width = size_of(*dtype);
  std::memcpy(&value, data.data() + i * width, width);
  return value;
}

SafetensorsFile::SafetensorsFile(std::string path, std::vector<std::byte> bytes)
    : path_(std::move(path)), bytes_(std::move(bytes)) {
  if (bytes_.size() < kLengthBytes) {
    refuse(path_, fmt::format("not a .safetensors file: {} bytes, the header length alone takes 8", bytes_.size()));
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes_.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes) {
    refuse(path_,
           fmt::format("not a .safetensors file: a header of {} bytes is more than {}", header_bytes, kMaxHeaderBytes));
  }
  const std::uint64_t after_length = bytes_.size() - kLengthBytes;
  if (header_bytes > after_length) {
    refuse(path_, fmt::format("the header should take {} bytes, only {} follow", header_bytes, after_length));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes, header_bytes);
  SafetensorsHeader header = parse_safetensors_header(path_, json);
  const std::span data = std::span<const std::byte>(bytes_).subspan(kLengthBytes + header_bytes);
  for (const auto& tensor : header.tensors) check_extent(path_, tensor, data.size());
  check_tiling(path_, header.tensors, data.size());

  metadata_ = std::move(header.metadata);
  for (auto& tensor : header.tensors) {
    const auto own = data.subspan(tensor.begin, tensor.end - tensor.begin);
    const auto dtype = dtype_in_use(tensor.dtype);
    tensors_.emplace(std::move(tensor.name),
                     SafetensorsTensor{std::move(tensor.dtype), dtype, std::move(tensor.shape), own});
  }
}

const SafetensorsTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const SafetensorsTensor& SafetensorsFile::float_tensor(const std::string& name) const {
  const SafetensorsTensor* tensor = find(name);
  if (tensor == nullptr) refuse(path_, fmt::format("holds no tensor {}", quoted_name(name)));
  if (!tensor->dtype) {
    refuse(path_, fmt::format("tensor {} has dtype {}; convert it to BF16, F16 or F32", quoted_name(name),
                              tensor->dtype_name));
  }
  return *tensor;
}

SafetensorsFile read_safetensors(const std::string& path, std::uint64_t max_bytes) {
  return SafetensorsFile(path, read_whole_file(path, max_bytes));
}

void write_safetensors(const std::string& path, std::span<const SafetensorsEntry> tensors,
                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> names{"__metadata__"};
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    const auto elements = product(tensor.shape);
    if (!names.insert(tensor.name).second) throw std::invalid_argument("tensor name twice: " + tensor.name);
    if (!elements || tensor.data.size() / size_of(tensor.dtype) != *elements ||
        tensor.data.size() % size_of(tensor.dtype) != 0) {
      throw std::invalid_argument("size and shape differ: " + tensor.name);
    }
    header[tensor.name] = {{"dtype", file_name_of(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw std::invalid_argument("a name or a metadata string is not UTF-8");
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');  // the data start 8-byte aligned
  const std::uint64_t header_bytes = json.size();
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(&header_bytes, 1)),
                                                std::as_bytes(std::span<const char>(json))};
  for (const auto& tensor : tensors) parts.push_back(tensor.data);
  write_file_atomically(path, parts);
}

}  // namespace lsecheck
