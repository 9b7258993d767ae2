#pragma once

#include <cstdint>

#include "reference/exp2_fraction.h"
#include "reference/vector4.h"

namespace lsecheck {

// Weights are multiplied by 2^kWeightScale: the least one that is computed is about 1.
inline constexpr int kWeightScale = 700;

// exp2_fraction of four numbers, by the same operations.
inline Vector4 exp2_fraction(Vector4 r) {
  const Vector4 slope =
      exp2_slope(r, splat(kExp2LastCoefficient), [](Vector4 x, Vector4 p, double c) { return fma(x, p, splat(c)); });
  return fma(r, slope, splat(1.0));
}

// 2^(hi + lo + kWeightScale) for -700 <= hi <= 1 and abs(lo) <= 2^-42, within kWeightError relative. u = 2^-53:
// exp2_fraction is within 1.61 u, the fma that multiplies by 1 + lo ln 2 rounds by u; what that factor leaves out,
// (lo ln 2)^2 / 2 and the errors of lo * ln 2, is below 2^-85 and 2^-94. hi minus its nearest integer is exact, and so
// is scaling.
inline constexpr double kWeightError = 3 * 0x1p-53;

inline Vector4 scaled_weight(Vector4 hi, Vector4 lo) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const Vector4 shifter = splat(0x1.8p52);
  const Vector4 shifted = hi + shifter;  // the integer nearest to hi, in the low bits
  const Vector4 fraction = exp2_fraction(hi - (shifted - shifter));
  const Vector4 corrected = fma(fraction, lo * splat(kLn2), fraction);
  return from_bits(bits_of(corrected) + (bits_of(shifted) << 52) + splat_bits(std::int64_t{kWeightScale} << 52));
}

}  // namespace lsecheck
