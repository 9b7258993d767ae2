#pragma once

#include <string>

#include "kernels/sm100/fa4_ws_combine_kernel.h"
#include "kernels/sm100/fa4_ws_instantiation_table.h"
#include "kernels/sm100/test_combine.h"

// What the tests of the in-CTA combine share: rows with masses, a launch of them, and the contract written once more as
// plain loops over one row.
namespace lsecheck::sm100 {

inline const CombineKernel& fa4_ws_kernel(Fa4WsLevel level) {
  switch (level) {
    case Fa4WsLevel::intracta:
      return fa4_ws_intracta_combine_kernel();
    case Fa4WsLevel::level1:
      return fa4_ws_level1_combine_kernel();
    case Fa4WsLevel::level2:
      return fa4_ws_level2_reduce_scatter_write_kernel();
    case Fa4WsLevel::two_level:
      break;
  }
  return fa4_ws_two_level_combine_kernel();
}

// lse holds m. A partition without a key has mass 0 and values 0.
struct Fa4WsBatch : RowBatch {
  std::vector<float> mass;

  explicit Fa4WsBatch(const CombineShape& of) : RowBatch(of), mass(lse.size(), 0.0F) {
    std::fill(o.begin(), o.end(), 0U);
  }
  float& mass_at(std::size_t p, std::size_t row) { return mass[p * rows_heads() + row]; }
  std::vector<float> mass_of_row(std::size_t row) const {
    std::vector<float> result;
    for (std::size_t p = 0; p < num_partitions(); ++p) result.push_back(mass[p * rows_heads() + row]);
    return result;
  }
};

// Output bits [rows_heads, output columns]. A byte written past the output fails the test.
inline std::optional<simt::Fault> launch_fa4_ws(const CombineKernel& kernel, const Fa4WsBatch& batch,
                                                const KernelVariant& variant, const ExecutionOptions& options,
                                                std::vector<std::uint32_t>& out_bits) {
  constexpr std::byte kPoison{0xa5};
  constexpr std::size_t kGuardBytes = 256;
  const auto bytes_of = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  const std::vector<std::byte> o = to_storage(DType::f32, batch.o);
  const std::size_t output_bytes = batch.rows_heads() * kernel.output_columns(batch.shape) * size_of(batch.shape.out);
  std::vector<std::byte> output(output_bytes + kGuardBytes, kPoison);
  auto fault =
      kernel.launch(batch.shape, variant,
                    {bytes_of(batch.lse), o, std::span(output).first(output_bytes), {}, bytes_of(batch.mass)}, options);
  for (const std::byte guard : std::span(output).last(kGuardBytes)) EXPECT_EQ(guard, kPoison) << "written past the end";
  out_bits = from_storage(batch.shape.out, std::span(output).first(output_bytes));
  return fault;
}

// --- the contract as plain loops ---

inline float plain_flushed(float x) {
  return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x;
}
inline float plain_mul_ftz(float a, float b) {
  return plain_flushed(plain_flushed(a) * plain_flushed(b));
}
inline float plain_fma_ftz(float a, float b, float c) {
  return plain_flushed(std::fma(plain_flushed(a), plain_flushed(b), plain_flushed(c)));
}

struct PlainPartial {
  float m = kEmpty;
  float l = 0;
  std::vector<float> o;
};

inline float plain_weight(float m, float reference, const CombineShape& shape, const sfu::Unit& unit) {
  float e = m - reference;
  if (shape.exponent == ExponentForm::scaled) e = plain_mul_ftz(e, shape.exponent_scale);
  return sfu::ex2_approx_ftz(unit, e);
}

inline PlainPartial plain_level1(std::span<const PlainPartial> partials, const CombineShape& shape,
                                 const sfu::Unit& unit) {
  PlainPartial all;
  all.m = plain_flushed(partials[0].m);
  for (const PlainPartial& partial : partials) all.m = larger_number(all.m, plain_flushed(partial.m));
  std::vector<float> s;
  for (const PlainPartial& partial : partials) s.push_back(plain_weight(partial.m, all.m, shape, unit));
  if (partials.size() == 2) {
    const float first = s[0] * partials[0].l;
    all.l = std::fma(s[1], partials[1].l, first);
  } else {
    const float first = s[0] * partials[0].l;
    const float second = s[1] * partials[1].l;
    const float even = std::fma(s[2], partials[2].l, first);
    const float odd = std::fma(s[3], partials[3].l, second);
    all.l = even + odd;
  }
  for (std::size_t d = 0; d < partials[0].o.size(); ++d) {
    float acc = plain_mul_ftz(s[0], partials[0].o[d]);
    for (std::size_t p = 1; p < partials.size(); ++p) acc = plain_fma_ftz(s[p], partials[p].o[d], acc);
    all.o.push_back(acc);
  }
  return all;
}

inline PlainPartial plain_level2(const PlainPartial& own, const PlainPartial& peer, const CombineShape& shape,
                                 const sfu::Unit& unit) {
  PlainPartial all;
  all.m = larger_number(plain_flushed(own.m), plain_flushed(peer.m));
  const float s_own = plain_weight(own.m, all.m, shape, unit);
  const float s_peer = plain_weight(peer.m, all.m, shape, unit);
  all.l = std::fma(s_peer, peer.l, plain_mul_ftz(s_own, own.l));
  for (std::size_t d = 0; d < own.o.size(); ++d) {
    all.o.push_back(plain_fma_ftz(s_peer, peer.o[d], plain_mul_ftz(s_own, own.o[d])));
  }
  return all;
}

// The f32 values of one row before the cast, all output columns. o: [P, D] bits.
inline std::vector<float> plain_row(Fa4WsLevel level, const CombineShape& shape, std::span<const float> m,
                                    std::span<const float> l, std::span<const std::uint32_t> o, const sfu::Unit& unit) {
  const std::size_t depth = o.size() / m.size();
  std::vector<PlainPartial> partials;
  for (std::size_t p = 0; p < m.size(); ++p) {
    PlainPartial partial{m[p], l[p], {}};
    for (std::size_t d = 0; d < depth; ++d) partial.o.push_back(std::bit_cast<float>(o[p * depth + d]));
    partials.push_back(std::move(partial));
  }
  PlainPartial all;
  const std::span<const PlainPartial> of(partials);
  switch (level) {
    case Fa4WsLevel::intracta:
    case Fa4WsLevel::level1:
      all = plain_level1(of, shape, unit);
      break;
    case Fa4WsLevel::level2:
      all = m.size() == 1 ? partials[0] : plain_level2(partials[0], partials[1], shape, unit);
      break;
    case Fa4WsLevel::two_level:
      all = plain_level2(plain_level1(of.first(m.size() / 2), shape, unit),
                         plain_level1(of.subspan(m.size() / 2), shape, unit), shape, unit);
  }
  if (level == Fa4WsLevel::level1) {
    all.o.push_back(all.l);
    all.o.push_back(all.m);
    return all.o;
  }
  const float inverse = sfu::rcp_approx_ftz(unit, all.l);
  for (float& value : all.o) value = plain_mul_ftz(value, inverse);
  return all.o;
}

inline std::vector<std::uint32_t> plain_row_bits(Fa4WsLevel level, const Fa4WsBatch& batch, std::size_t row,
                                                 const sfu::Unit& unit) {
  std::vector<std::uint32_t> bits;
  for (const float value :
       plain_row(level, batch.shape, batch.lse_of_row(row), batch.mass_of_row(row), batch.o_of_row(row), unit)) {
    bits.push_back(std::isnan(value) ? nan_bits(batch.shape.out) : round_to_nearest_even(batch.shape.out, value));
  }
  return bits;
}

// Rows of every kind in turn: close exponents, spread over and past the flush, far from zero, equal; partitions without
// a key; masses from 1 to many keys, tiny and huge; values with zeros, subnormals and, where asked for, Inf and NaN.
inline void draw_row(Fa4WsBatch& batch, std::size_t row, Draw& draw, bool special_values) {
  const double unit = batch.shape.exponent == ExponentForm::scaled ? batch.shape.exponent_scale : 1.0;
  const double spread = std::array{3.0, 40.0, 160.0, 0.0, 126.0}[row % 5] / unit;
  const double offset = std::array{0.0, -1e4, 300.0}[row / 5 % 3];
  for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
    const bool leading = p % std::max<std::size_t>(batch.num_partitions() / 2, 1) == 0;
    if (!leading && draw.below(6) == 0) {
      batch.lse_at(p, row) = kEmpty;
      continue;
    }
    batch.lse_at(p, row) = draw.single(offset - spread, offset);
    if (draw.below(5) == 0) batch.lse_at(p, row) = static_cast<float>(offset - 126 / unit);
    batch.mass_at(p, row) = draw.single(1, 300);
    if (draw.below(12) == 0) batch.mass_at(p, row) = std::ldexp(draw.single(1, 2), draw.below(276) - 149);
    if (draw.below(40) == 0) batch.mass_at(p, row) = 0.0F;
    const int size = draw.below(12) == 0 ? draw.below(250) - 149 : 0;
    for (std::uint32_t& bits : batch.o_at(p, row)) {
      float value = std::ldexp(draw.single(-2, 2), size);
      if (draw.below(16) == 0) value = 0.0F;
      if (special_values && draw.below(64) == 0) value = draw.below(2) == 0 ? INFINITY : -NAN;
      bits = std::bit_cast<std::uint32_t>(value);
    }
  }
}

}  // namespace lsecheck::sm100
