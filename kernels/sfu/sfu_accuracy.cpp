#include "kernels/sfu/sfu.h"

namespace lsecheck::sfu {
namespace {

// From the PTX ISA's words.
//
// ex2: "within 2 representable values of the correctly rounded result", which is itself at most half an ulp off. Let u
// be the spacing of the binade [B, 2B) of v = 2^x, so B = 2^23 u, c the correctly rounded value, y = c +- 0..2 steps.
// Claim: abs(y - v) <= 2.5 * 2^-23 v.
//   - v, c, y in [B, 2B]: abs(y - v) <= 2u + u/2 and v >= B, the bound itself.
//   - y above 2B, where the spacing is 2u, with c = 2B: y <= 2B + 4u and v >= 2B - u/2. That is 4.5u of at least
//     (2^24 - 0.5) u, below 2.26 * 2^-23.
//   - y above 2B with c = 2B - u: y <= 2B + 2u and v >= 2B - 1.5u. That is 3.5u, below 1.76 * 2^-23.
//   - y below B, where the spacing is u/2: the steps below B are shorter than u, so this is less than the first case.
// c is never below v's binade. At the flush threshold B = 2^-126 the spacing below is u, not u/2: the first case again.
// Below 2^-126 the relative bound would fail, but everything there is flushed: floats next to -126 are 2^-17 apart,
// which puts 2^x of the largest float below -126 44 representable values under 2^-126, more than the 2 allowed.
//
// lg2: 2^-22 absolute on (0.5, 2), 2^-22 relative elsewhere, as documented; lg2(1) is not promised to be exact.
//
// rcp: 1 ulp, the ulp at the binade of v = 1/abs(x): at most 2^-23 v for v >= 2^-126. Smaller v are flushed, but for
// x = 2^126 (1 + 2^-23), whose neighbour 2^-126 is one (subnormal) ulp above: there y / v - 1 = 2^-23 exactly.
constexpr UnitAccuracy kSpec = {
    .ex2_relative = 2.5 * 0x1p-23,
    .lg2_absolute = 0x1p-22,
    .lg2_absolute_above_one = 0x1p-22,
    .lg2_relative = 0x1p-22,
    .lg2_relative_above_two = 0x1p-22,
    .lg2_of_one_exact = false,
    .rcp_relative = 0x1p-23,
};

// Exhaustive over all 2^32 inputs of h200_model.cpp, which equals the hardware on each of them
// (SfuAccuracyNightlyTest): the maximum and the smallest input bits that reach it. Rounded upward by more than the
// error of the double reference it was measured against (2^-51 relative for ex2, 2^-51 + 2^-53 for lg2); rcp is
// measured exactly.
//   ex2, x > 0              0x1.393173e561a27p-23  2^-22.7091  at 0x3d8005d0 (0x1.000bap-4)
//   ex2, x < 0              0x1.3527b5e4f1787p-23  2^-22.7278  at 0xbf7b000c (-0x1.f60018p-1)
//   lg2 absolute, (0.5, 1)  0x1.ce32e558p-23       2^-22.1476  at 0x3f075fff (0x1.0ebffep-1)
//   lg2 absolute, [1, 2)    0x1.5739e59f4p-23      2^-22.5770  at 0x3f855fff (0x1.0abffep0)
//   lg2 relative, x <= 0.5  0x1.ec4d095ce9271p-23  2^-22.0566  at 0x3ef3ffde (0x1.e7ffbcp-2)
//   lg2 relative, x >= 2    0x1.4673507e7aebdp-23  2^-22.6493  at 0x40028060 (0x1.0500cp1)
//   rcp                     0x1.a628d8p-24         2^-23.2784  at 0x00ecfdfd (0x1.d9fbfap-126)
constexpr UnitAccuracy kH200 = {
    .ex2_relative = 0x1.393174p-23,
    .lg2_absolute = 0x1.ce32e6p-23,
    .lg2_absolute_above_one = 0x1.5739e6p-23,
    .lg2_relative = 0x1.ec4d0ap-23,
    .lg2_relative_above_two = 0x1.467351p-23,
    .lg2_of_one_exact = true,
    .rcp_relative = 0x1.a628d8p-24,
};

}  // namespace

UnitAccuracy accuracy_of(UnitKind kind) {
  return kind == UnitKind::h200 ? kH200 : kSpec;
}

}  // namespace lsecheck::sfu
