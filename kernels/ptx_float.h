#pragma once

#include <cstdint>

// Scalar arithmetic with PTX semantics, the same bits from nvcc and from the host compiler. An ordinary + - * in a
// kernel is one IEEE operation (device code: -fmad=false -ftz=false; host code: -ffp-contract=off); everything that is
// not, stands here.
#if defined(__CUDACC__)
#define LSECHECK_BOTH __device__ __forceinline__  // what nvcc compiles for the host calls none of it
#else
#include <immintrin.h>

#include <bit>
#define LSECHECK_BOTH inline
#endif

namespace lsecheck {

struct bf16 {
  std::uint16_t bits;
};
struct f16 {
  std::uint16_t bits;
};

// `count` consecutive elements moved by one access, aligned to its full width.
template <class T, int count>
struct alignas(sizeof(T) * count) Vector {
  T element[count];
};

// log2(e) rounded to f32: what turns a natural exponent into one of base 2.
inline constexpr float kLog2eF32 = 0x1.715476p+0F;

LSECHECK_BOTH std::uint32_t bits_of(float x) {
#if defined(__CUDACC__)
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}

LSECHECK_BOTH float float_from_bits(std::uint32_t bits) {
#if defined(__CUDACC__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

LSECHECK_BOTH float negative_infinity() {
  return float_from_bits(0xff800000U);
}

LSECHECK_BOTH float positive_infinity() {
  return float_from_bits(0x7f800000U);
}

// fma.rn.f32: one rounding.
LSECHECK_BOTH float fma_rn(float a, float b, float c) {
#if defined(__CUDACC__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

// div.rn.f32: true division, one rounding.
LSECHECK_BOTH float divide_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

// max.f32: the non-NaN operand wins, +0 > -0.
LSECHECK_BOTH float max_non_nan(float a, float b) {
#if defined(__CUDACC__)
  return fmaxf(a, b);
#else
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return (bits_of(a) >> 31) != 0 ? b : a;  // equal: prefer +0
  return a > b ? a : b;
#endif
}

// max.NaN.f32: any NaN wins.
LSECHECK_BOTH float max_nan(float a, float b) {
#if defined(__CUDACC__)
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  if (a != a || b != b) return float_from_bits(0x7fffffffU);
  return max_non_nan(a, b);
#endif
}

#if !defined(__CUDACC__)
// What .ftz does to an operand: a subnormal becomes the zero of its sign.
inline float flush_operand(float x) {
  return __builtin_fabsf(x) < 0x1p-126F ? __builtin_copysignf(0.0F, x) : x;
}

// What .ftz does to a result, whose exact value is high + low with abs(low) at most half an ulp of high. Hardware
// rounds as if exponents went on below 2^-126 and flushes what is then below it; so of the exact values that round to
// 2^-126 in f32 those under 2^-126 - 2^-151 are flushed too.
inline float flush_result(float rounded, double high, double low) {
  if (!(__builtin_fabsf(rounded) <= 0x1p-126F)) return rounded;
  const double sign = rounded < 0 ? -1.0 : 1.0;
  const double below = sign * high - (0x1p-126 - 0x1p-151);
  const bool tiny = below < 0 || (below == 0 && sign * low < 0);
  return tiny ? __builtin_copysignf(0.0F, rounded) : rounded;
}
#endif

// mul.rn.ftz.f32: with .rn no later pass may fuse it.
LSECHECK_BOTH float mul_ftz(float a, float b) {
#if defined(__CUDACC__)
  float result;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  const float x = flush_operand(a);
  const float y = flush_operand(b);
  return flush_result(x * y, static_cast<double>(x) * static_cast<double>(y), 0.0);
#endif
}

// fma.rn.ftz.f32.
LSECHECK_BOTH float fma_rn_ftz(float a, float b, float c) {
#if defined(__CUDACC__)
  float result;
  asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
#else
  const float x = flush_operand(a);
  const float y = flush_operand(b);
  const float z = flush_operand(c);
  const float rounded = __builtin_fmaf(x, y, z);
  if (!(__builtin_fabsf(rounded) <= 0x1p-126F)) return rounded;
  // The product is exact in double; the two parts of the sum by Knuth's two-sum.
  const double product = static_cast<double>(x) * static_cast<double>(y);
  const double addend = static_cast<double>(z);
  const double sum = product + addend;
  const double addend_part = sum - product;
  const double low = (product - (sum - addend_part)) + (addend - addend_part);
  return flush_result(rounded, sum, low);
#endif
}

// max.ftz.f32: as max.f32 on flushed operands.
LSECHECK_BOTH float max_ftz(float a, float b) {
#if defined(__CUDACC__)
  float result;
  asm("max.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return max_non_nan(flush_operand(a), flush_operand(b));
#endif
}

LSECHECK_BOTH float to_f32(float x) {
  return x;
}
LSECHECK_BOTH float to_f32(bf16 x) {
  return float_from_bits(static_cast<std::uint32_t>(x.bits) << 16);
}
LSECHECK_BOTH float to_f32(f16 x) {
#if defined(__CUDACC__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#else
  return _cvtsh_ss(x.bits);
#endif
}

// cvt.rn: round to nearest even, overflow to Inf, every NaN to the type's canonical one.
template <class T>
LSECHECK_BOTH T round_from_f32(float x);

template <>
LSECHECK_BOTH float round_from_f32<float>(float x) {
  return x == x ? x : float_from_bits(0x7fffffffU);
}

template <>
LSECHECK_BOTH bf16 round_from_f32<bf16>(float x) {
  if (x != x) return bf16{0x7fff};
  const std::uint32_t bits = bits_of(x);
  // Adding half an ulp less one, plus the kept last bit, carries exactly when round-to-nearest-even goes up; Inf stays
  // Inf.
  return bf16{static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

template <>
LSECHECK_BOTH f16 round_from_f32<f16>(float x) {
  if (x != x) return f16{0x7fff};
#if defined(__CUDACC__)
  std::uint16_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return f16{result};
#else
  return f16{static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT))};
#endif
}

}  // namespace lsecheck
