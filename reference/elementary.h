#pragma once

// exp2 and log2 in double with bounds derived beside the code (elementary.cpp), built from + - * / fma alone: the same
// bits on every machine and under every libm. Used where a bound or a generated case needs them.
namespace lsecheck {

// 2^x. abs(result / 2^x - 1) <= kExp2RelativeError for -1022 <= x < 1024; exact for integer x in that range;
// below -1022: 0 <= result and abs(result - 2^x) <= 2^-1022; x >= 1024: +inf; -inf: 0; NaN: NaN.
double exp2_double(double x);
inline constexpr double kExp2RelativeError = 0x1p-52;

// log2 x for finite x > 0 (subnormals included). abs(result - log2 x) <= kLog2AbsoluteError + kLog2RelativeError *
// abs(log2 x); exact for powers of two. 0: -inf; +inf: +inf; negative or NaN: NaN.
double log2_double(double x);
inline constexpr double kLog2AbsoluteError = 0x1p-51;
inline constexpr double kLog2RelativeError = 0x1p-53;

// Next double towards +inf of a correctly rounded result: turns round-to-nearest into an upper bound.
double round_up(double x);
// Next double towards -inf.
double round_down(double x);

}  // namespace lsecheck
