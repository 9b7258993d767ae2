#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/hunt_target.h"

// The words that lines about worst cases are made of. What cannot be read throws std::invalid_argument that names the
// field.
namespace lsecheck {

// The values of "key=value" fields, which stand in the given order, each once, one space between them.
std::vector<std::string> parse_fields(std::string_view text, std::span<const std::string_view> keys);

[[noreturn]] void refuse_field(std::string_view key, std::string_view value, std::string_view due);

KernelId parse_kernel_field(std::string_view text);
DType parse_type_field(std::string_view key, std::string_view text);

// Decimal or, base 16, without a prefix.
template <class Integer>
Integer parse_integer_field(std::string_view key, std::string_view text, int base = 10) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) refuse_field(key, text, "not a number of its range");
  return value;
}

// "-0x1.8p+3", "inf", "-inf": what fmt's {:a} writes.
template <class Float>
Float parse_hex_float_field(std::string_view key, std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  if (digits == "inf") return negative ? -kInfinity : kInfinity;
  constexpr std::string_view kDue = "not a hexadecimal floating-point number such as -0x1.8p+3";
  if (!digits.starts_with("0x") || digits.substr(2).starts_with('-')) refuse_field(key, text, kDue);
  digits.remove_prefix(2);
  Float value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::hex);
  if (error != std::errc{} || end != digits.data() + digits.size() || std::isnan(value)) refuse_field(key, text, kDue);
  return negative ? -value : value;
}

// The eight fields of a target, in this order.
inline constexpr std::string_view kTargetKeys[] = {"kernel",   "out", "partial", "arch",
                                                   "exponent", "P",   "regime",  "metric"};
std::string format_target(const HuntTarget& target);
HuntTarget parse_target(std::span<const std::string> fields);

}  // namespace lsecheck
