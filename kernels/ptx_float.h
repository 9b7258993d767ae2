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
