#include "reference/certified_double_grade.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "reference/metric_grid.h"
#include "reference/vector4.h"

// Four elements at a time. Each question is asked of both ends of an enclosure: rounding to T, the binade and the
// metric grid are monotone, so equal answers hold for everything in between. u = 2^-53.
namespace lsecheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The layout that store_grades writes.
static_assert(sizeof(ElementGrade) == 48 && offsetof(ElementGrade, ulp) == 0 &&
              offsetof(ElementGrade, scaled_ulp) == 8 && offsetof(ElementGrade, bound_use) == 16 &&
              offsetof(ElementGrade, signed_ulp) == 24 && offsetof(ElementGrade, steps) == 32 &&
              offsetof(ElementGrade, correctly_rounded) == 40 && offsetof(ElementGrade, within_bound) == 44 &&
              offsetof(ElementGrade, undecided) == 45);

__m128i low_half(__m128i bits) {
  return _mm_and_si128(bits, _mm_set1_epi32(0xffff));
}

template <DType type>
Vector4 decode4(__m128i bits) {
  if constexpr (type == DType::f32) return _mm256_cvtps_pd(_mm_castsi128_ps(bits));
  if constexpr (type == DType::bf16) return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(bits, 16)));
  if constexpr (type == DType::f16)
    return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_packus_epi32(low_half(bits), low_half(bits))));
}

// The bits of values that the type holds.
template <DType type>
__m128i encode4(Vector4 values) {
  const __m128 single = _mm256_cvtpd_ps(values);
  if constexpr (type == DType::f32) return _mm_castps_si128(single);
  if constexpr (type == DType::bf16) return _mm_srli_epi32(_mm_castps_si128(single), 16);
  if constexpr (type == DType::f16) return _mm_cvtepu16_epi32(_mm_cvtps_ph(single, _MM_FROUND_TO_NEAREST_INT));
}

// ordinal() of four patterns.
template <DType type>
Bits4 ordinal4(__m128i bits) {
  constexpr int kUnused = 32 - format_of(type).bits;
  const __m128i aligned = _mm_slli_epi32(bits, kUnused);
  const __m128i magnitude = _mm_srli_epi32(_mm_slli_epi32(bits, kUnused + 1), kUnused + 1);
  const __m128i sign = _mm_srai_epi32(aligned, 31);
  const __m128i ordinal = _mm_sub_epi32(_mm_xor_si128(magnitude, sign), sign);
  return reinterpret_cast<Bits4>(_mm256_cvtepi32_epi64(ordinal));
}

// 2^e of the binade that ulp_at() takes for magnitudes >= 0.
template <DType type>
Vector4 binade4(Vector4 magnitude) {
  constexpr FloatFormat kFormat = format_of(type);
  const Vector4 power = from_bits(bits_of(magnitude) & splat_bits(0x7ff0000000000000));
  return min4(max4(power, splat(two_to_the(kFormat.min_exponent))), splat(two_to_the(kFormat.max_exponent)));
}

// Rounded to the type, to nearest even, with the sign of x, for abs(x) below the overflow threshold: adding 1.5 * 2^52
// units of x's last place leaves an integer number of them.
template <DType type>
Vector4 round4(Vector4 x, Vector4 binade) {
  const Vector4 shifter = binade * splat(0x1.8p52 * two_to_the(1 - format_of(type).precision));
  const Vector4 rounded = (x + shifter) - shifter;
  const Bits4 sign = splat_bits(std::numeric_limits<std::int64_t>::min());
  return from_bits((bits_of(rounded) & ~sign) | (bits_of(x) & sign));
}

using Unsigned4 = std::uint64_t __attribute__((vector_size(32)));  // wraps around

// metric_on_grid of four values >= 0; of NaN, anything.
Vector4 metric_on_grid4(Vector4 v) {
  const Bits4 bits = bits_of(v);
  Bits4 below_one = splat_bits(1023) - (bits >> 52);
  below_one = below_one < splat_bits(0) ? splat_bits(0) : below_one;
  below_one = below_one > splat_bits(7) ? splat_bits(7) : below_one;
  const Bits4 between = (splat_bits(std::int64_t{1} << 42) << below_one) - splat_bits(1);
  const auto sum = reinterpret_cast<Bits4>(reinterpret_cast<Unsigned4>(bits) + reinterpret_cast<Unsigned4>(between));
  return v <= splat(kMetricZero) ? splat(0.0) : from_bits(sum & ~between);
}

struct Grades4 {
  Vector4 ulp, scaled_ulp, bound_use, signed_ulp;
  Bits4 steps;
  __m128i correctly_rounded;
  Bits4 within_bound;
};

void store_grades(const Grades4& grades, ElementGrade* to) {
  const __m256d ulp_scaled_0 = _mm256_unpacklo_pd(grades.ulp, grades.scaled_ulp);  // elements 0 and 2
  const __m256d ulp_scaled_1 = _mm256_unpackhi_pd(grades.ulp, grades.scaled_ulp);  // elements 1 and 3
  const __m256d use_signed_0 = _mm256_unpacklo_pd(grades.bound_use, grades.signed_ulp);
  const __m256d use_signed_1 = _mm256_unpackhi_pd(grades.bound_use, grades.signed_ulp);
  const __m256i within = _mm256_slli_epi64(_mm256_srli_epi64(reinterpret_cast<__m256i>(grades.within_bound), 63), 32);
  const __m256i words = _mm256_or_si256(_mm256_cvtepu32_epi64(grades.correctly_rounded), within);
  const auto steps = reinterpret_cast<__m256i>(grades.steps);
  const __m256i tail_0 = _mm256_unpacklo_epi64(steps, words);
  const __m256i tail_1 = _mm256_unpackhi_epi64(steps, words);
  const auto store = [to](int i, __m256d head, __m128i tail) {
    _mm256_storeu_pd(&to[i].ulp, head);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&to[i].steps), tail);
  };
  store(0, _mm256_permute2f128_pd(ulp_scaled_0, use_signed_0, 0x20), _mm256_castsi256_si128(tail_0));
  store(1, _mm256_permute2f128_pd(ulp_scaled_1, use_signed_1, 0x20), _mm256_castsi256_si128(tail_1));
  store(2, _mm256_permute2f128_pd(ulp_scaled_0, use_signed_0, 0x31), _mm256_extracti128_si256(tail_0, 1));
  store(3, _mm256_permute2f128_pd(ulp_scaled_1, use_signed_1, 0x31), _mm256_extracti128_si256(tail_1, 1));
}

// Grades elements d .. d + 3, whose bits and bounds are given; bit i of the result: element d + i stays open, and what
// was stored for it means nothing.
template <DType type>
int grade4(const ColumnEnclosures& columns, std::size_t d, const std::uint32_t* out_bits, const double* bounds,
           ElementGrade* grades) {
  constexpr FloatFormat kFormat = format_of(type);
  const Vector4 sum = load4(&columns.sum[d]);
  const Vector4 size = load4(&columns.size[d]);
  const Vector4 tiny = load4(&columns.tiny[d]);
  const Vector4 inverse = splat(columns.inverse);
  const Vector4 x = sum * inverse;
  const Vector4 scale = size * inverse;
  const Vector4 left_out = tiny * inverse * splat(1.03);
  const Bits4 is_zero = size + tiny == splat(0.0);
  const Vector4 wide = fma(scale, splat(columns.condition), left_out) + splat(columns.floor);
  const Vector4 radius = is_zero ? splat(0.0) : wide;

  // Which number of the type, and which binades.
  const Vector4 low = x - radius;
  const Vector4 high = x + radius;
  const Vector4 binade = binade4<type>(abs4(low));
  const Vector4 scale_binade = binade4<type>(max4(scale - radius, splat(0.0)));
  const Vector4 rounded = round4<type>(low, binade);
  const Vector4 threshold = splat((2 - two_to_the(-kFormat.precision)) * two_to_the(kFormat.max_exponent));
  Bits4 decided = (abs4(low) < threshold) & (abs4(high) < threshold) & (binade == binade4<type>(abs4(high))) &
                  (scale_binade == binade4<type>(scale + radius)) & (scale < splat(kInfinity)) &
                  (bits_of(rounded) == bits_of(round4<type>(high, binade)));

  // abs(y - x): the subtraction rounds by u relative; a factor of 1 -+ 4 u covers that and the roundings after it,
  // where the radius, whose own slack covers its part, is taken away or added. Where x is known and nothing was rounded
  // (TwoSum), both ends are the distance, which may lie on the grid.
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(out_bits));
  const Vector4 y = decode4<type>(bits);
  const Vector4 difference = y - x;
  const Vector4 part = difference - y;
  const Vector4 residual = (y - (difference - part)) - (x + part);
  const Vector4 slack = (radius == splat(0.0)) & (residual == splat(0.0)) ? splat(0.0) : splat(0x1p-51);
  const Vector4 distance = abs4(difference);
  const Vector4 least = max4(fma(distance, -slack, distance) - radius, splat(0.0));
  const Vector4 most = fma(distance, slack, distance) + radius;
  decided &= distance < splat(kInfinity);

  // 1 / ulp is a power of two: the products are exact, or so small that both are below kMetricZero.
  const Vector4 per_ulp = from_bits(splat_bits(std::int64_t{1023 + kFormat.precision - 1} << 52) +
                                    (splat_bits(std::int64_t{1023} << 52) - bits_of(binade)));
  const Vector4 ulp = metric_on_grid4(most * per_ulp);
  decided &= ulp == metric_on_grid4(least * per_ulp);
  const Vector4 ratio = from_bits(splat_bits(std::int64_t{1023} << 52) + (bits_of(binade) - bits_of(scale_binade)));

  // Three roundings, below 4 u. An underflow leaves both ends below kMetricZero; an overflow gives +inf, as the grid
  // does.
  const Vector4 bound = load4(bounds);
  const Vector4 per_bound = splat(1.0) / bound;
  const Bits4 no_error = (most == splat(0.0)) & (bound >= splat(0.0));
  const Vector4 use = metric_on_grid4(most * per_bound * splat(1 + 0x1p-51));
  const Bits4 one_cell = use == metric_on_grid4(least * per_bound * splat(1 - 0x1p-51));
  decided &= no_error | (one_cell & (bound >= splat(0x1p-1000)));

  Grades4 result;
  result.ulp = ulp;
  result.scaled_ulp = metric_on_grid4(ulp * ratio);
  result.bound_use = no_error ? splat(0.0) : use;
  const Bits4 sign = bits_of(difference) & splat_bits(std::numeric_limits<std::int64_t>::min());
  result.signed_ulp = ulp == splat(0.0) ? splat(0.0) : from_bits(bits_of(ulp) | sign);
  result.correctly_rounded = encode4<type>(rounded);
  const Bits4 steps = ordinal4<type>(bits) - ordinal4<type>(result.correctly_rounded);
  result.steps = steps < splat_bits(0) ? -steps : steps;
  result.within_bound = result.bound_use <= splat(1.0);
  store_grades(result, grades);
  return ~mask_of(decided) & 15;
}

void note_open(int open_lanes, std::size_t d, std::vector<std::size_t>& open) {
  for (; open_lanes != 0; open_lanes &= open_lanes - 1) {
    open.push_back(d + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(open_lanes))));
  }
}

template <DType type>
void grade_all(const ColumnEnclosures& columns, const RowToGrade& row, std::span<ElementGrade> grades,
               std::vector<std::size_t>& open) {
  std::size_t d = 0;
  for (; d + 4 <= grades.size(); d += 4) {
    note_open(grade4<type>(columns, d, &row.out_bits[d], &row.bound[d], &grades[d]), d, open);
  }
  const std::size_t rest = grades.size() - d;
  if (rest == 0) return;
  std::array<std::uint32_t, 4> bits{};
  std::array<double, 4> bounds{};
  std::array<ElementGrade, 4> last;
  std::copy_n(row.out_bits.begin() + static_cast<std::ptrdiff_t>(d), rest, bits.begin());
  std::copy_n(row.bound.begin() + static_cast<std::ptrdiff_t>(d), rest, bounds.begin());
  note_open(grade4<type>(columns, d, bits.data(), bounds.data(), last.data()) & ((1 << rest) - 1), d, open);
  std::copy_n(last.begin(), rest, grades.begin() + static_cast<std::ptrdiff_t>(d));
}

}  // namespace

void grade_columns(const ColumnEnclosures& columns, const RowToGrade& row, std::span<ElementGrade> grades,
                   std::vector<std::size_t>& open) {
  switch (row.out) {
    case DType::bf16:
      return grade_all<DType::bf16>(columns, row, grades, open);
    case DType::f16:
      return grade_all<DType::f16>(columns, row, grades, open);
    case DType::f32:
      return grade_all<DType::f32>(columns, row, grades, open);
  }
}

}  // namespace lsecheck
