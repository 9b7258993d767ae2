// The measured special-function unit, bit for bit, on integers.
//
// Structure (Oberman and Siu, "A high-performance area-efficient multifunction interpolator", 2005): the top bits of a
// 23-bit fraction select a segment of a table; the rest, xl, enters c0 + c1 * xl + c2 * xl^2 in fixed point with a
// truncated square and a rounding constant; the result is truncated to 24 bits. The digests of h200_digests.cpp, over
// all 2^32 inputs, are the proof.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/sfu/h200_tables.h"
#include "kernels/sfu/sfu.h"

namespace lsecheck::sfu {
namespace {

constexpr std::uint32_t kFractionMask = 0x007fffff;
constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
constexpr std::uint32_t kSignMask = 0x80000000;
constexpr std::uint32_t kInfBits = 0x7f800000;
constexpr std::uint32_t kOneBits = 0x3f800000;
constexpr std::uint32_t kSmallestNormalBits = 0x00800000;
constexpr float kCanonicalNaN = std::bit_cast<float>(0x7fffffffu);
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The squarer forms the 17-bit square from its folded partial-product matrix (bit i squared in column 2i; for i < j the
// product of bits i and j in column i + j + 1) and drops: the squared bits in columns below 19, and below column 19 the
// products whose lower bit is among the low nine. Write xl = 512 b + a (a nine bits, b eight). Products inside a all
// lie below column 19 and are dropped, a^2 with them; those inside b all stay, except that bit 9 squared (column 18) is
// dropped; product (i, 9 + k) of a and b stays iff i + k >= 9. Hence
//   square(xl) = 2^19 * ( b^2 div 2 + sum_{k=1..7} b_k * (a >> (9 - k)) ).
// The sum is tabulated in two parts: k = 1..3 needs the top three bits of a only, k = 4..7 the top seven.
constexpr std::uint32_t cross_products(std::uint32_t a, std::uint32_t b, std::uint32_t first, std::uint32_t last) {
  std::uint32_t sum = 0;
  for (std::uint32_t k = first; k <= last; ++k) sum += (b >> k & 1u) * (a >> (9 - k));
  return sum;
}

constexpr auto kLowCross = [] {
  std::array<std::uint8_t, 128> table{};  // [b_0..b_3, top three bits of a]; b_0 is there because the bits lie together
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint8_t>(cross_products((i & 7u) << 6, i >> 3, 1, 3));
  }
  return table;
}();

constexpr auto kHighCross = [] {
  std::array<std::uint16_t, 2048> table{};  // [top seven bits of a, b_4..b_7]
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint16_t>(cross_products((i >> 4) << 2, (i & 15u) << 4, 4, 7));
  }
  return table;
}();

// The truncated square of a 17-bit number, in units of 2^19.
inline std::uint32_t square_units(std::uint32_t xl) {
  const std::uint32_t b = xl >> 9;
  const std::uint32_t low = kLowCross[xl >> 6 & 0x7fu];
  const std::uint32_t high = kHighCross[(xl << 2 & 0x7f0u) | (xl >> 13)];
  return (b * b >> 1) + low + high;
}

// ex2 for -126 <= x < 128; subnormals come out right too: their fixed-point argument is 0.
//
//   2^57 * 2^f = c0 * 2^32 + c1 * xl * 2^19 + c2 * square(xl) + 0x6fc4 * 2^18, computed here in units of 2^19
inline float ex2_in_range(float x) {
  // Truncation of abs(x) to 23 fraction bits, and for a negative x with a non-zero truncated fraction the ONES'
  // complement of it with an integer part one lower: in two's complement the truncated number less one unit.
  const auto truncated = static_cast<std::int32_t>(static_cast<double>(x) * 0x1p23);
  const bool complement = (truncated < 0) & ((static_cast<std::uint32_t>(truncated) & kFractionMask) != 0);
  const std::uint32_t fixed = static_cast<std::uint32_t>(truncated) - complement;

  const Segment& segment = kEx2Segments[fixed >> 17 & 0x3fu];
  const std::uint32_t xl = fixed & 0x1ffffu;
  const std::uint64_t sum = (std::uint64_t{segment.c0} << 13) + std::uint64_t{segment.c1} * xl +
                            std::uint64_t{segment.c2} * square_units(xl) + (0x6fc4 >> 1);
  const std::uint32_t fraction = static_cast<std::uint32_t>(sum >> 15) & kFractionMask;
  return std::bit_cast<float>(((fixed & ~kFractionMask) + kOneBits) | fraction);
}

// lg2 of a positive normal number other than 1.
//
//   2^56 * log2 m = c0 * 2^30 + c1 * xl * 2^18 - c2 * square(xl) + 0x868b * 2^17, computed here in units of 2^17
// plus the exponent (at most 127 in size: the sum stays inside 64 bits, two's complement) with unit weight 2^39 in
// those units.
inline float lg2_normal(std::uint32_t bits) {
  const Segment& segment = kLg2Segments[bits >> 17 & 0x3fu];
  const std::uint32_t xl = bits & 0x1ffffu;
  const std::uint64_t exponent = (std::uint64_t{bits & ~kFractionMask} << 16) - (std::uint64_t{127} << 39);
  const std::uint64_t sum = (std::uint64_t{segment.c0} << 13) + std::uint64_t{2u * segment.c1} * xl -
                            std::uint64_t{4u * segment.c2} * square_units(xl) + 0x868b + exponent;

  // Sign and magnitude; the low 20 bits (3 in these units) are cleared, then the magnitude is normalised and truncated.
  const std::uint64_t sign = sum >> 63;
  const std::uint64_t magnitude = ((sum ^ (0 - sign)) + sign) & ~std::uint64_t{7};
  const auto leading_zeros = static_cast<std::uint32_t>(std::countl_zero(magnitude));
  const auto fraction = static_cast<std::uint32_t>((magnitude << leading_zeros) >> 40) & kFractionMask;
  const std::uint32_t biased = (63 - 39 + 127) - leading_zeros;
  return std::bit_cast<float>((static_cast<std::uint32_t>(sign) << 31) | (biased << 23) | fraction);
}

// lg2 of everything that is not a positive normal or subnormal number.
inline float lg2_special(std::uint32_t bits) {
  if ((bits & kMagnitudeMask) == 0) return -kInfinity;
  return bits == kInfBits ? kInfinity : kCanonicalNaN;
}

}  // namespace

float h200_ex2_approx_ftz(float x) {
  if (x >= -126.0f && x < 128.0f) [[likely]] {
    return ex2_in_range(x);
  }
  if (x != x) return kCanonicalNaN;
  return x > 0.0f ? kInfinity : 0.0f;
}

float h200_ex2_approx(float x) {
  if (x >= -126.0f) [[likely]] {
    return x < 128.0f ? ex2_in_range(x) : kInfinity;
  }
  if (x != x) return kCanonicalNaN;
  // The instruction is expanded to ex2(x / 2)^2 there, one f32 product. Below -252 the square is 0 either way.
  if (x < -252.0f) return 0.0f;
  const float root = ex2_in_range(x * 0.5f);
  return root * root;
}

float h200_lg2_approx(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (bits - kSmallestNormalBits < kInfBits - kSmallestNormalBits) [[likely]] {
    return bits == kOneBits ? 0.0f : lg2_normal(bits);
  }
  if (bits != 0 && bits < kSmallestNormalBits) return lg2_normal(std::bit_cast<std::uint32_t>(x * 0x1p24f)) - 24.0f;
  return lg2_special(bits);
}

float h200_lg2_approx_ftz(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (bits - kSmallestNormalBits < kInfBits - kSmallestNormalBits) [[likely]] {
    return bits == kOneBits ? 0.0f : lg2_normal(bits);
  }
  return (bits & kMagnitudeMask) < kSmallestNormalBits ? -kInfinity : lg2_special(bits);
}

float h200_rcp_approx_ftz(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits & kSignMask;
  const std::uint32_t magnitude = bits & kMagnitudeMask;
  if (magnitude > kInfBits) return kCanonicalNaN;
  if (magnitude < kSmallestNormalBits) return std::bit_cast<float>(sign | kInfBits);
  if (magnitude == kInfBits) return std::bit_cast<float>(sign);

  //   2^56 / m = c0 * 2^30 - c1 * xl * 2^17 + c2 * square(2 xl) / 4 + 0x67e7 * 2^17, computed here in units of 2^17
  const Segment& segment = kRcpSegments[magnitude >> 16 & 0x7fu];
  const std::uint32_t xl = magnitude & 0xffffu;
  const std::uint64_t sum = (std::uint64_t{segment.c0} << 13) - std::uint64_t{segment.c1} * xl +
                            std::uint64_t{segment.c2} * square_units(xl << 1) + 0x67e7;
  // The reciprocal of the significand is 1 (bit 39 set) or lies in [1/2, 1).
  const std::uint32_t below_one = static_cast<std::uint32_t>(~sum >> 39) & 1u;
  const auto fraction = static_cast<std::uint32_t>((sum << below_one) >> 16) & kFractionMask;
  const auto biased = 254 - static_cast<std::int32_t>(magnitude >> 23) - static_cast<std::int32_t>(below_one);
  if (biased <= 0) return std::bit_cast<float>(sign);  // subnormal: flushed
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(biased) << 23) | fraction);
}

}  // namespace lsecheck::sfu
