// An adversary inside the accuracy the PTX ISA documents: for every input the set of allowed results is an interval of
// representable values, and the seed chooses from it. Where double arithmetic with a proven error cannot tell which of
// two f32 values is the correctly rounded one, the interval is the intersection of both, so the result is inside the
// specification either way.
//
// seed % 4 is the temper:
//   0  any allowed value, by a hash of (seed, instruction, input bits), uniform in value over the interval
//   1  always the highest
//   2  always the lowest
//   3  the highest or the lowest, by the hash
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/sfu/sfu.h"
#include "kernels/sfu/splitmix64.h"
#include "reference/elementary.h"

namespace lsecheck::sfu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kCanonicalNaN = std::bit_cast<float>(0x7fffffffu);
constexpr float kSmallestNormal = 0x1p-126f;

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

std::uint64_t hash_of(std::uint64_t seed, Instruction instruction, float x) {
  const std::uint64_t input = (static_cast<std::uint64_t>(instruction) << 32) | bits_of(x);
  return splitmix64(splitmix64(seed) ^ splitmix64(input));
}

// Where in the allowed interval, from 0 (lowest) to 1 (highest).
double position_of(std::uint64_t seed, Instruction instruction, float x) {
  switch (seed % 4) {
    case 0:
      return static_cast<double>(hash_of(seed, instruction, x) >> 11) / 0x1.fffffffffffffp52;
    case 1:
      return 1.0;
    case 2:
      return 0.0;
    default:
      break;
  }
  return (hash_of(seed, instruction, x) & 1u) != 0 ? 1.0 : 0.0;
}

// Neighbours on the number line; finite x.
float next_above(float x) {
  if (x == 0.0f) return std::numeric_limits<float>::denorm_min();
  return std::bit_cast<float>(x > 0.0f ? bits_of(x) + 1 : bits_of(x) - 1);
}
float next_below(float x) {
  return -next_above(-x);
}

// The smallest float not below x and the largest not above it; abs(x) in the finite range.
float ceil_to_float(double x) {
  const float nearest = static_cast<float>(x);
  return nearest < x ? next_above(nearest) : nearest;
}
float floor_to_float(double x) {
  return -ceil_to_float(-x);
}

// The value of [lowest, highest] at a position of [0, 1], in value: near lg2 = 0 most representable values are tiny,
// and they would drown the rest if all counted alike. Never -0.
float pick(float lowest, float highest, double position) {
  const double low = lowest;
  const double value = low + (static_cast<double>(highest) - low) * position;
  const float inside = std::clamp(static_cast<float>(value), lowest, highest);
  return inside == 0.0f ? 0.0f : inside;
}

float flush(float x) {
  return std::fabs(x) < kSmallestNormal ? std::copysign(0.0f, x) : x;
}

}  // namespace

// ex2.approx: at most 2 representable values from the correctly rounded 2^x.
float spec_ex2_approx_ftz(std::uint64_t seed, float x) {
  if (x != x) return kCanonicalNaN;
  if (std::fabs(x) < kSmallestNormal) return 1.0f;
  if (x >= 128.0f) return kInfinity;
  // 2^x is at least 44 representable values below 2^-126 for the largest float below -126 (ulp 2^-17): flushed whatever
  // is chosen.
  if (x < -126.0f) return 0.0f;

  // abs(estimate - 2^x) <= error / 2, and the other half covers the rounding of the two ends (2^-53 of each): the
  // correctly rounded value lies between their roundings to f32, which are at most one step apart. No overflow: the
  // largest float below 128 gives 88 representable values below 2^128.
  const double estimate = exp2_double(x);
  const double error = estimate * (2 * kExp2RelativeError);
  const float nearest_low = static_cast<float>(estimate - error);
  const float nearest_high = static_cast<float>(estimate + error);
  const float lowest = next_below(next_below(nearest_high));
  const float highest = next_above(next_above(nearest_low));
  const double position = position_of(seed, Instruction::ex2_approx_ftz, x);
  return flush(pick(lowest, highest, position));
}

// lg2.approx: 2^-22 absolute on (0.5, 2), 2^-22 relative elsewhere. lg2(1) is no exception.
float spec_lg2_approx(std::uint64_t seed, float x) {
  if (x != x || x < 0.0f) return kCanonicalNaN;
  if (x == 0.0f) return -kInfinity;
  if (x == kInfinity) return kInfinity;

  // abs(estimate - log2 x) <= error. The tolerance gives up four times that: once for the estimate, once for the
  // tolerance's dependence on it (2^-22 of it), the rest for the roundings of the two ends, each at most 2^-53 *
  // (abs(estimate) + tolerance).
  const double estimate = log2_double(x);
  const double magnitude = std::fabs(estimate);
  const double error = kLog2AbsoluteError + kLog2RelativeError * magnitude;
  const double tolerance = (x > 0.5f && x < 2.0f ? 0x1p-22 : 0x1p-22 * magnitude) - 4 * error;
  const float lowest = ceil_to_float(estimate - tolerance);
  const float highest = floor_to_float(estimate + tolerance);
  return pick(lowest, highest, position_of(seed, Instruction::lg2_approx, x));
}

// rcp.approx: at most one ulp from 1/x, the ulp at the binade of the exact 1/x. Decided without error.
//
// Let e be the exponent of 1/abs(x) and the unit u = 2^(e-23), or 2^-149 where that is larger. y is allowed iff abs(y -
// 1/abs(x)) <= u, that is abs(y * abs(x) - 1) <= u * abs(x). For the few y looked at, y * abs(x) is exact in double (24
// + 24 bits) and within 2^-19 of 1, so the difference is exact too, and u * abs(x) only shifts the exponent. At a power
// of two the values below are half a unit apart, so the allowed interval is searched, not assumed to be a number of
// steps.
float spec_rcp_approx_ftz(std::uint64_t seed, float x) {
  if (x != x) return kCanonicalNaN;
  if (std::fabs(x) < kSmallestNormal) return std::copysign(kInfinity, x);
  if (std::fabs(x) == kInfinity) return std::copysign(0.0f, x);

  const double magnitude = std::fabs(x);
  const int input_exponent = static_cast<int>(bits_of(x) >> 23 & 0xffu) - 127;
  const bool power_of_two = (bits_of(x) & 0x007fffffu) == 0;
  const int exponent = power_of_two ? -input_exponent : -input_exponent - 1;
  const double unit =
      std::bit_cast<double>(static_cast<std::uint64_t>((exponent < -126 ? -126 : exponent) - 23 + 1023) << 52);
  const auto allowed = [&](float y) { return std::fabs(y * magnitude - 1.0) <= unit * magnitude; };

  // Nearest to 1/abs(x) up to a double rounding: allowed with much to spare.
  const float nearest = static_cast<float>(1.0 / magnitude);
  float lowest = nearest;
  float highest = nearest;
  while (allowed(next_below(lowest))) lowest = next_below(lowest);
  while (allowed(next_above(highest))) highest = next_above(highest);

  const bool negative = x < 0.0f;
  const double position = position_of(seed, Instruction::rcp_approx_ftz, x);
  return flush(negative ? pick(-highest, -lowest, position) : pick(lowest, highest, position));
}

}  // namespace lsecheck::sfu
