#include "reference/float_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace lsecheck {
namespace {

constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f32};
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<std::uint32_t> sample_patterns(DType type) {
  std::vector<std::uint32_t> patterns;
  if (format_of(type).bits == 16) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) patterns.push_back(bits);
    return patterns;
  }
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 40009) patterns.push_back(static_cast<std::uint32_t>(bits));
  for (std::uint32_t field = 0; field < 0x200; ++field) {  // both ends of every binade, both signs
    for (const std::uint32_t fraction : {0u, 1u, 0x7ffffeu, 0x7fffffu}) patterns.push_back((field << 23) | fraction);
  }
  return patterns;
}

TEST(FloatFormat, NamesRoundTrip) {
  for (const DType type : kTypes) EXPECT_EQ(parse_dtype(name_of(type)), type);
  EXPECT_EQ(parse_dtype("fp8"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(FloatFormat, DecodeAgreesWithOtherDefinitions) {
  EXPECT_EQ(decode(DType::f16, 0x3c00), 1);
  EXPECT_EQ(decode(DType::f16, 0xc000), -2);
  EXPECT_EQ(decode(DType::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode(DType::f16, 0x03ff), 1023 * 0x1p-24);
  EXPECT_EQ(decode(DType::f16, 0x7bff), 65504);
  EXPECT_EQ(decode(DType::f16, 0xfc00), -kInf);
  EXPECT_TRUE(std::isnan(decode(DType::f16, 0x7c01)));
  for (const std::uint32_t bits : sample_patterns(DType::f32)) {
    const float hardware = std::bit_cast<float>(bits);
    if (std::isnan(hardware)) continue;
    ASSERT_EQ(decode(DType::f32, bits), double{hardware});
  }
  for (const std::uint32_t bits : sample_patterns(DType::bf16)) {
    const float widened = std::bit_cast<float>(bits << 16);
    if (std::isnan(widened)) continue;
    ASSERT_EQ(decode(DType::bf16, bits), double{widened});
  }
}

TEST(FloatFormat, DecodeAndRoundAreInverse) {
  for (const DType type : kTypes) {
    const std::uint32_t nan = format_of(type).bits == 16 ? 0x7fff : 0x7fffffff;
    for (const std::uint32_t bits : sample_patterns(type)) {
      const double value = decode(type, bits);
      ASSERT_EQ(std::isnan(value), is_nan(type, bits));
      ASSERT_EQ(std::isinf(value), is_inf(type, bits));
      ASSERT_EQ(std::isfinite(value), is_finite(type, bits));
      ASSERT_EQ(round_to_nearest_even(type, value), is_nan(type, bits) ? nan : bits);
    }
  }
}

TEST(FloatFormat, MidpointsGoToEvenAndTheirNeighboursDoNot) {
  for (const DType type : kTypes) {
    for (const std::uint32_t bits : sample_patterns(type)) {
      if (!is_finite(type, bits)) continue;
      const std::uint32_t next = bits + 1;  // away from zero; Inf after the largest number
      const double sign = decode(type, bits) < 0 || std::signbit(decode(type, bits)) ? -1 : 1;
      const double middle =
          is_inf(type, next) ? sign * overflow_threshold(type) : (decode(type, bits) + decode(type, next)) / 2;
      ASSERT_EQ(round_to_nearest_even(type, middle), bits % 2 == 0 ? bits : next);
      ASSERT_EQ(round_to_nearest_even(type, std::nextafter(middle, 0)), bits);
      ASSERT_EQ(round_to_nearest_even(type, std::nextafter(middle, sign * kInf)), next);
    }
  }
}

TEST(FloatFormat, RoundsAsTheHardwareDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u),
                                static_cast<int>(random() % 310) - 160);
    const float hardware = static_cast<float>(x);
    ASSERT_EQ(round_to_nearest_even(DType::f32, x), std::bit_cast<std::uint32_t>(hardware));
    ASSERT_EQ(round_to_nearest_even(DType::f32, -x), std::bit_cast<std::uint32_t>(-hardware));
  }
  EXPECT_EQ(round_to_nearest_even(DType::f32, 1e300), 0x7f800000u);
  EXPECT_EQ(round_to_nearest_even(DType::bf16, -1e-300), 0x8000u);
  EXPECT_EQ(round_to_nearest_even(DType::f16, std::numeric_limits<double>::denorm_min()), 0u);
}

TEST(FloatFormat, OrdinalsAreConsecutiveAndSymmetric) {
  for (const DType type : kTypes) {
    const std::uint32_t sign_bit = std::uint32_t{1} << (format_of(type).bits - 1);
    EXPECT_EQ(ordinal(type, 0), 0);
    EXPECT_EQ(ordinal(type, sign_bit), 0);
    for (const std::uint32_t bits : sample_patterns(type)) {
      if (is_nan(type, bits)) continue;
      ASSERT_EQ(ordinal(type, bits), -ordinal(type, bits ^ sign_bit));
      if (is_finite(type, bits) && bits < sign_bit) {
        ASSERT_EQ(ordinal(type, bits + 1), ordinal(type, bits) + 1);
        ASSERT_LT(decode(type, bits), decode(type, bits + 1));
      }
    }
  }
}

TEST(FloatFormat, Limits) {
  EXPECT_EQ(max_finite(DType::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(max_finite(DType::f16), 65504);
  EXPECT_EQ(overflow_threshold(DType::f16), 65520);
  EXPECT_EQ(smallest_subnormal(DType::f32), std::numeric_limits<float>::denorm_min());
  for (const DType type : kTypes) {
    EXPECT_EQ(smallest_subnormal(type), decode(type, 1));
    EXPECT_EQ(overflow_threshold(type), max_finite(type) + ulp_at(type, max_finite(type)) / 2);
  }
}

TEST(FloatFormat, UlpIsTheSpacingOfTheBinade) {
  for (const DType type : kTypes) {
    for (const std::uint32_t bits : sample_patterns(type)) {
      if (!is_finite(type, bits) || !is_finite(type, bits + 1)) continue;
      const double spacing = std::fabs(decode(type, bits + 1) - decode(type, bits));
      ASSERT_EQ(ulp_at(type, decode(type, bits)), spacing);
      ASSERT_EQ(ulp_at(type, std::nextafter(decode(type, bits + 1), 0)), spacing);
    }
    EXPECT_EQ(ulp_at(type, 0), smallest_subnormal(type));
    EXPECT_EQ(ulp_at(type, 1e-310), smallest_subnormal(type));
    EXPECT_EQ(ulp_at(type, 1e300), ulp_at(type, max_finite(type)));
  }
}

}  // namespace
}  // namespace lsecheck
