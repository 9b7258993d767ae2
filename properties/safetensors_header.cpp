#include "properties/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "properties/whole_file.h"

#include <fmt/format.h>

namespace lsecheck {
namespace {

// A state machine over the parser's events. The header has one shape only, so every event that does not fit is an
// error, and nothing is ever built for what does not belong. (A DOM would lose duplicate keys.)
class HeaderSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderSax(const std::string& path) : path_(path) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool number_integer(number_integer_t value) override { unexpected(fmt::format("the negative number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override {
    unexpected(fmt::format("the number {}, which is no integer of 64 bits", text.substr(0, 40)));
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::in_shape) {
      if (tensor_.shape.size() == kMaxRank) fail(fmt::format("has more than {} dimensions", kMaxRank));
      tensor_.shape.push_back(value);
    } else if (state_ == State::in_offsets) {
      if (num_offsets_ == 2) fail("data_offsets holds more than two numbers");
      (num_offsets_ == 0 ? tensor_.begin : tensor_.end) = value;
      ++num_offsets_;
    } else {
      unexpected(fmt::format("the number {}", value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::in_metadata) {
      header_.metadata[key_] = std::move(value);
    } else if (state_ == State::in_tensor && key_ == "dtype") {
      tensor_.dtype = std::move(value);
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::start:
        state_ = State::in_root;
        return true;
      case State::in_root:
        if (key_ == "__metadata__") {
          state_ = State::in_metadata;
        } else {
          begin_tensor();
        }
        return true;
      default:
        unexpected("an object");
    }
  }

  bool end_object() override {
    if (state_ == State::in_tensor) {
      end_tensor();
      state_ = State::in_root;
    } else if (state_ == State::in_metadata) {
      state_ = State::in_root;
    } else {
      state_ = State::done;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::in_tensor && key_ == "shape") {
      state_ = State::in_shape;
    } else if (state_ == State::in_tensor && key_ == "data_offsets") {
      state_ = State::in_offsets;
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::in_offsets && num_offsets_ != 2) fail("data_offsets does not hold two numbers");
    state_ = State::in_tensor;
    return true;
  }

  bool key(string_t& name) override {
    if (state_ == State::in_root) {
      if (!names_.insert(name).second) header_error(fmt::format("{} appears twice in the header", quoted_name(name)));
      if (names_.size() > kMaxTensors) header_error(fmt::format("more than {} tensors", kMaxTensors));
    } else if (state_ == State::in_metadata) {
      if (header_.metadata.contains(name)) {
        header_error(fmt::format("metadata key {} appears twice in the header", quoted_name(name)));
      }
    } else {
      if (name != "dtype" && name != "shape" && name != "data_offsets") {
        fail(fmt::format("has the unknown field {}", quoted_name(name)));
      }
      if (!fields_.insert(name).second) fail(fmt::format("has the field {} twice", quoted_name(name)));
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // Its message carries the library's own prefix; the reason follows the last "column N: " or "- ".
    std::string reason = error.what();
    if (const auto start = reason.find("syntax error"); start != std::string::npos) reason = reason.substr(start);
    for (char& c : reason) c = static_cast<unsigned char>(c) - 0x20u < 0x5fu ? c : '?';
    header_error(fmt::format("the header is not JSON at byte {}: {}", position, reason.substr(0, 200)));
  }

 private:
  enum class State { start, in_root, in_metadata, in_tensor, in_shape, in_offsets, done };

  [[noreturn]] void header_error(const std::string& reason) const {
    throw FileError(FileErrorKind::unreadable, path_, reason);
  }
  [[noreturn]] void fail(const std::string& reason) const {
    header_error(fmt::format("tensor {} {}", quoted_name(tensor_.name), reason));
  }
  [[noreturn]] void unexpected(const std::string& what) const {
    switch (state_) {
      case State::in_shape:
        fail(fmt::format("has {} in its shape", what));
      case State::in_offsets:
        fail(fmt::format("has {} in its data_offsets", what));
      case State::in_tensor:
        fail(fmt::format("has {} for its {}", what, quoted_name(key_)));
      case State::in_metadata:
        header_error(fmt::format("metadata key {} holds {}, not a string", quoted_name(key_), what));
      case State::in_root:
        header_error(fmt::format("{} holds {}, not a tensor", quoted_name(key_), what));
      default:
        header_error(fmt::format("the header holds {}, not an object", what));
    }
  }

  void begin_tensor() {
    tensor_ = {};
    tensor_.name = key_;
    num_offsets_ = 0;
    fields_.clear();
    state_ = State::in_tensor;
  }

  void end_tensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!fields_.contains(field)) fail(fmt::format("has no {}", field));
    }
    header_.tensors.push_back(std::move(tensor_));
  }

  const std::string& path_;
  SafetensorsHeader header_;
  SafetensorsHeader::Tensor tensor_;
  State state_ = State::start;
  std::string key_;
  int num_offsets_ = 0;
  std::set<std::string> names_;
  std::set<std::string> fields_;
};

}  // namespace

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kMaxShown = 80;
  std::size_t shown_bytes = std::min(name.size(), kMaxShown);
  // Not inside a UTF-8 sequence.
  while (shown_bytes < name.size() && shown_bytes > 0 &&
         (static_cast<unsigned char>(name[shown_bytes]) & 0xc0) == 0x80) {
    --shown_bytes;
  }
  std::string shown(name.substr(0, shown_bytes));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return fmt::format("`{}`{}", shown, shown_bytes < name.size() ? "..." : "");
}

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json) {
  // The JSON parser takes a NUL byte for the end of its input and skips a byte-order mark; here neither has a place.
  if (json.find('\0') != std::string_view::npos) {
    throw FileError(FileErrorKind::unreadable, path, "the header holds a NUL byte");
  }
  if (json.empty() || json.front() != '{') {
    throw FileError(FileErrorKind::unreadable, path, "not a .safetensors file: the header does not begin with `{`");
  }
  HeaderSax sax(path);
  nlohmann::json::sax_parse(json, &sax);
  return sax.take();
}

std::optional<unsigned> safetensors_dtype_bits(std::string_view dtype) {
  static constexpr std::pair<std::string_view, unsigned> kBits[] = {
      {"BF16", 16},       {"F16", 16},    {"F32", 32},    {"F64", 64},    {"BOOL", 8},    {"U8", 8},
      {"I8", 8},          {"U16", 16},    {"I16", 16},    {"U32", 32},    {"I32", 32},    {"U64", 64},
      {"I64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E5M2FNUZ", 8},
      {"F8_E4M3FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
  };
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) return bits;
  }
  return std::nullopt;
}

}  // namespace lsecheck
