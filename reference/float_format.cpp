#include "reference/float_format.h"

#include <array>
#include <cmath>
#include <limits>

namespace lsecheck {
namespace {

constexpr std::array<DType, 3> kAllTypes{DType::bf16, DType::f16, DType::f32};

// The storage pattern of a type: sign, exponent field, fraction field.
struct Fields {
  std::uint32_t sign_mask;
  std::uint32_t magnitude_mask;
  std::uint32_t infinity;  // the pattern of +Inf; larger magnitudes are NaN
  int fraction_bits;
};

constexpr Fields fields_of(DType type) {
  const FloatFormat format = format_of(type);
  const std::uint32_t sign_mask = std::uint32_t{1} << (format.bits - 1);
  const int fraction_bits = format.precision - 1;
  const auto exponent_values = static_cast<std::uint32_t>(format.max_exponent - format.min_exponent + 2);
  return {sign_mask, sign_mask - 1, exponent_values << fraction_bits, fraction_bits};
}

}  // namespace

std::string_view name_of(DType type) {
  switch (type) {
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f32:
      break;
  }
  return "f32";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DType type : kAllTypes) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

double decode(DType type, std::uint32_t bits) {
  const FloatFormat format = format_of(type);
  const Fields fields = fields_of(type);
  const std::uint32_t magnitude = bits & fields.magnitude_mask;
  if (magnitude > fields.infinity) return std::numeric_limits<double>::quiet_NaN();
  double value = std::numeric_limits<double>::infinity();
  if (magnitude < fields.infinity) {
    const std::uint32_t exponent_field = magnitude >> fields.fraction_bits;
    const std::uint32_t hidden = exponent_field == 0 ? 0 : std::uint32_t{1} << fields.fraction_bits;
    const std::uint32_t fraction = magnitude & ((std::uint32_t{1} << fields.fraction_bits) - 1);
    const int quantum =
        format.min_exponent - fields.fraction_bits + (exponent_field == 0 ? 0 : static_cast<int>(exponent_field) - 1);
    value = static_cast<double>(hidden | fraction) * two_to_the(quantum);
  }
  return (bits & fields.sign_mask) != 0 ? -value : value;
}

std::uint32_t round_to_nearest_even(DType type, double x) {
  const FloatFormat format = format_of(type);
  const Fields fields = fields_of(type);
  if (std::isnan(x)) return fields.magnitude_mask;
  const std::uint32_t sign = std::signbit(x) ? fields.sign_mask : 0;
  const double magnitude = std::fabs(x);
  if (magnitude >= overflow_threshold(type)) return sign | fields.infinity;
  const int exponent = clamped_exponent(type, magnitude);
  // In units of the last place the magnitude is below 2^25. The scaling is by a power of two and exact: it only ever
  // enlarges, except for values above 2^precision, which are far from underflow. Adding and taking away 1.5 * 2^52
  // rounds to an integer, ties to even.
  const double in_units = magnitude * two_to_the(fields.fraction_bits - exponent);
  const double integer = (in_units + 0x1.8p52) - 0x1.8p52;
  // A significand that rounds up to 2^precision carries into the exponent field, which is what the next binade is.
  const auto binades_up = static_cast<std::uint32_t>(exponent - format.min_exponent);
  return sign | ((binades_up << fields.fraction_bits) + static_cast<std::uint32_t>(integer));
}

bool is_nan(DType type, std::uint32_t bits) {
  const Fields fields = fields_of(type);
  return (bits & fields.magnitude_mask) > fields.infinity;
}

bool is_inf(DType type, std::uint32_t bits) {
  const Fields fields = fields_of(type);
  return (bits & fields.magnitude_mask) == fields.infinity;
}

bool is_finite(DType type, std::uint32_t bits) {
  const Fields fields = fields_of(type);
  return (bits & fields.magnitude_mask) < fields.infinity;
}

std::int64_t ordinal(DType type, std::uint32_t bits) {
  const Fields fields = fields_of(type);
  const auto magnitude = static_cast<std::int64_t>(bits & fields.magnitude_mask);
  return (bits & fields.sign_mask) != 0 ? -magnitude : magnitude;
}

double rounding_boundary(DType type, std::uint32_t a, std::uint32_t b) {
  if (is_inf(type, a)) return -overflow_threshold(type);
  if (is_inf(type, b)) return overflow_threshold(type);
  return (decode(type, a) + decode(type, b)) / 2;
}

double max_finite(DType type) {
  return decode(type, fields_of(type).infinity - 1);
}

}  // namespace lsecheck
