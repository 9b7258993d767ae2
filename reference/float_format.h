#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// The three storage types of the combine kernels, as exact sets of numbers. Everything here is integer or exact double
// arithmetic; a double holds every value of every type exactly.
namespace lsecheck {

// 2^n for a normal double exponent n.
constexpr double two_to_the(int n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

enum class DType : std::uint8_t { bf16 = 0, f16 = 1, f32 = 2 };

struct FloatFormat {
  int precision;     // significand bits, the hidden one included: 8, 11, 24
  int min_exponent;  // exponent of the smallest normal number: -126, -14, -126
  int max_exponent;  // exponent of the largest finite number: 127, 15, 127
  int bits;          // storage size: 16, 16, 32
};

constexpr FloatFormat format_of(DType type) {
  switch (type) {
    case DType::bf16:
      return {8, -126, 127, 16};
    case DType::f16:
      return {11, -14, 15, 16};
    case DType::f32:
      break;
  }
  return {24, -126, 127, 32};
}

constexpr std::size_t size_of(DType type) {
  return static_cast<std::size_t>(format_of(type).bits) / 8;
}

std::string_view name_of(DType type);                     // "bf16", "f16", "f32"
std::optional<DType> parse_dtype(std::string_view name);  // the inverse; nullopt for anything else

double decode(DType type, std::uint32_t bits);  // exact; NaN for every NaN pattern
std::uint32_t round_to_nearest_even(
    DType type,
    double x);  // one rounding from double; overflow gives Inf, NaN the type's canonical NaN (0x7fff / 0x7fffffff)
bool is_nan(DType type, std::uint32_t bits);
bool is_inf(DType type, std::uint32_t bits);
bool is_finite(DType type, std::uint32_t bits);

// Position on the number line in representable values: consecutive for neighbours, 0 for both zeros, symmetric in sign;
// Inf is one step past the largest finite value. Not defined for NaN.
std::int64_t ordinal(DType type, std::uint32_t bits);

// The point between two neighbours a < b of the type (bits, Inf included) where rounding changes; between the zeros it
// is zero.
double rounding_boundary(DType type, std::uint32_t a, std::uint32_t b);

double max_finite(DType type);

// max_finite plus half an ulp: what rounds to Inf. (2 - 2^(1-p)) 2^emax + 2^(emax-p) = (2 - 2^-p) 2^emax.
constexpr double overflow_threshold(DType type) {
  const FloatFormat format = format_of(type);
  return (2.0 - two_to_the(-format.precision)) * two_to_the(format.max_exponent);
}

constexpr double smallest_subnormal(DType type) {
  const FloatFormat format = format_of(type);
  return two_to_the(format.min_exponent - format.precision + 1);
}

// floor(log2 abs(x)) of a finite x, no lower than the type's smallest normal exponent. A double below 2^-1022 has
// exponent field 0; it is below every type's smallest normal number, so the clamp covers it.
constexpr int clamped_exponent(DType type, double x) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  return exponent < format_of(type).min_exponent ? format_of(type).min_exponent : exponent;
}

// ulp at the binade of abs(x), floored at the smallest subnormal (Goldberg). x finite; above the format's range the top
// binade's ulp.
constexpr double ulp_at(DType type, double x) {
  const FloatFormat format = format_of(type);
  const int exponent = clamped_exponent(type, x);
  return two_to_the((exponent > format.max_exponent ? format.max_exponent : exponent) - format.precision + 1);
}

}  // namespace lsecheck
