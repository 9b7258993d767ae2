#pragma once

#include <immintrin.h>

#include <cstdint>

// Four doubles, their bits as integers, and the few operations on them that operators do not spell. Everything rounds
// to nearest, lane by lane, so that a lane holds what the scalar expression would.
namespace lsecheck {

using Vector4 = double __attribute__((vector_size(32)));
using Bits4 = std::int64_t __attribute__((vector_size(32)));  // also what comparisons give: -1 true, 0 false

inline Vector4 splat(double x) {
  return Vector4{x, x, x, x};
}
inline Bits4 splat_bits(std::int64_t x) {
  return Bits4{x, x, x, x};
}
inline Bits4 bits_of(Vector4 x) {
  return reinterpret_cast<Bits4>(x);
}
inline Vector4 from_bits(Bits4 x) {
  return reinterpret_cast<Vector4>(x);
}
inline Vector4 load4(const double* from) {
  return _mm256_loadu_pd(from);
}
inline void store4(double* to, Vector4 x) {
  _mm256_storeu_pd(to, x);
}
inline Vector4 fma(Vector4 a, Vector4 b, Vector4 c) {
  return _mm256_fmadd_pd(a, b, c);
}
inline Vector4 abs4(Vector4 x) {
  return from_bits(bits_of(x) & splat_bits(0x7fffffffffffffff));
}
inline Vector4 max4(Vector4 a, Vector4 b) {  // b where a lane holds NaN
  return _mm256_max_pd(a, b);
}
inline Vector4 min4(Vector4 a, Vector4 b) {  // b where a lane holds NaN
  return _mm256_min_pd(a, b);
}
// Bit i: lane i of a comparison.
inline int mask_of(Bits4 comparison) {
  return _mm256_movemask_pd(from_bits(comparison));
}

}  // namespace lsecheck
