#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/sfu/splitmix64.h"
#include "kernels/sm100/fa4_combine_kernel.h"

// What the tests of fa4_splitk_combine share: rows to combine, a launch of them, and the contract written once more as
// plain loops over one row.
namespace lsecheck::sm100 {

inline constexpr float kEmpty = -std::numeric_limits<float>::infinity();

constexpr std::uint32_t nan_bits(DType type) {
  return type == DType::f32 ? 0x7fffffffU : 0x7fffU;
}

struct TypePair {
  DType out;
  DType partial;
};
// The pairs that the kernel is compiled for: partials in the output type or in f32.
inline constexpr std::array<TypePair, 5> kTypePairs{{{DType::bf16, DType::bf16},
                                                     {DType::bf16, DType::f32},
                                                     {DType::f16, DType::f16},
                                                     {DType::f16, DType::f32},
                                                     {DType::f32, DType::f32}}};

// A reproducible stream of test values.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(sfu::splitmix64(seed)) {}
  std::uint64_t bits() { return sfu::splitmix64(state_++); }
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }
  float single(double low, double high) { return static_cast<float>(uniform(low, high)); }

 private:
  std::uint64_t state_;
};

// Row-heads with their partials. Every partition starts empty, over NaN bits.
struct RowBatch {
  CombineShape shape;
  std::vector<float> lse;        // [P, rows_heads]
  std::vector<std::uint32_t> o;  // [P, rows_heads, D], bits of shape.partial

  explicit RowBatch(const CombineShape& of) : shape(of) {
    lse.assign(num_partitions() * rows_heads(), kEmpty);
    o.assign(lse.size() * depth(), nan_bits(shape.partial));
  }
  std::size_t num_partitions() const { return static_cast<std::size_t>(shape.num_partitions); }
  std::size_t rows_heads() const { return static_cast<std::size_t>(shape.rows_heads()); }
  std::size_t depth() const { return static_cast<std::size_t>(shape.ov_depth); }

  float& lse_at(std::size_t p, std::size_t row_head) { return lse[p * rows_heads() + row_head]; }
  std::span<std::uint32_t> o_at(std::size_t p, std::size_t row_head) {
    return std::span(o).subspan((p * rows_heads() + row_head) * depth(), depth());
  }
  void fill(std::size_t p, std::size_t row_head, float lse_value, double o_value) {
    lse_at(p, row_head) = lse_value;
    for (std::uint32_t& bits : o_at(p, row_head)) bits = round_to_nearest_even(shape.partial, o_value);
  }

  std::vector<float> lse_of_row(std::size_t row_head) const {
    std::vector<float> row(num_partitions());
    for (std::size_t p = 0; p < row.size(); ++p) row[p] = lse[p * rows_heads() + row_head];
    return row;
  }
  std::vector<std::uint32_t> o_of_row(std::size_t row_head) const {
    std::vector<std::uint32_t> row;
    for (std::size_t p = 0; p < num_partitions(); ++p) {
      const auto from = o.begin() + static_cast<std::ptrdiff_t>((p * rows_heads() + row_head) * depth());
      row.insert(row.end(), from, from + static_cast<std::ptrdiff_t>(depth()));
    }
    return row;
  }
};

inline std::vector<std::byte> to_storage(DType type, std::span<const std::uint32_t> bits) {
  std::vector<std::byte> bytes(bits.size() * size_of(type));
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&bytes[i * size_of(type)], &bits[i], size_of(type));
  return bytes;
}

inline std::vector<std::uint32_t> from_storage(DType type, std::span<const std::byte> bytes) {
  std::vector<std::uint32_t> bits(bytes.size() / size_of(type), 0);
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &bytes[i * size_of(type)], size_of(type));
  return bits;
}

// Output bits [rows_heads, D]. A fault, a changed input or a byte written past the output fails the test.
inline std::vector<std::uint32_t> launch(const RowBatch& batch, const KernelVariant& variant,
                                         const ExecutionOptions& options = {}) {
  constexpr std::byte kPoison{0xa5};
  constexpr std::size_t kGuardBytes = 256;
  const auto given_lse = std::as_bytes(std::span(batch.lse));
  const std::vector<std::byte> lse(given_lse.begin(), given_lse.end());
  const std::vector<std::byte> o = to_storage(batch.shape.partial, batch.o);
  const std::size_t output_bytes = batch.rows_heads() * batch.depth() * size_of(batch.shape.out);
  std::vector<std::byte> output(output_bytes + kGuardBytes, kPoison);

  const auto fault =
      fa4_combine_kernel().launch(batch.shape, variant, {lse, o, std::span(output).first(output_bytes)}, options);
  EXPECT_FALSE(fault.has_value()) << fault->message;
  EXPECT_TRUE(std::ranges::equal(lse, given_lse) && o == to_storage(batch.shape.partial, batch.o))
      << "an input was modified";
  for (const std::byte guard : std::span(output).last(kGuardBytes)) EXPECT_EQ(guard, kPoison) << "written past the end";
  return from_storage(batch.shape.out, std::span(output).first(output_bytes));
}

// The variant of that name; fails the test where the shape has none.
inline KernelVariant variant_named(const CombineShape& shape, const std::string& name) {
  for (const KernelVariant& variant : fa4_combine_kernel().variants(shape)) {
    if (variant.name == name) return variant;
  }
  ADD_FAILURE() << "no variant " << name << " for num_partitions " << shape.num_partitions;
  return {"runtime", 0};
}

// The non-NaN operand wins.
inline float larger_number(float a, float b) {
  if (std::isnan(a)) return b;
  return b > a ? b : a;
}

// The weights of one row as the contract orders the operations; nullopt where it stores zeros.
inline std::optional<std::vector<float>> scalar_weights(std::span<const float> lse, Arch arch, int p_static,
                                                        const sfu::Unit& unit) {
  const std::size_t slots = (static_cast<std::size_t>(p_static > 0 ? p_static : 160) + 31) / 32;
  const auto slot_of = [&](std::size_t lane, std::size_t k) {
    return 32 * k + lane < lse.size() ? lse[32 * k + lane] : kEmpty;
  };

  std::array<float, 32> lane_value{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    lane_value[lane] = slot_of(lane, 0);
    for (std::size_t k = 1; k < slots; ++k) lane_value[lane] = larger_number(lane_value[lane], slot_of(lane, k));
  }
  float m = lane_value[0];
  for (const float value : lane_value) {
    m = arch == Arch::sm_100a && (std::isnan(m) || std::isnan(value)) ? NAN : larger_number(m, value);
  }
  if (m == kEmpty) return std::nullopt;

  for (std::size_t lane = 0; lane < 32; ++lane) {
    lane_value[lane] = sfu::ex2_approx_ftz(unit, slot_of(lane, 0) - m);
    for (std::size_t k = 1; k < slots; ++k) lane_value[lane] += sfu::ex2_approx_ftz(unit, slot_of(lane, k) - m);
  }
  for (std::size_t offset = 16; offset > 0; offset /= 2) {
    const std::array<float, 32> before = lane_value;
    for (std::size_t lane = 0; lane < 32; ++lane) lane_value[lane] = before[lane] + before[lane ^ offset];
  }
  const float g = sfu::lg2_approx(unit, lane_value[0]) + m;

  std::vector<float> weights(lse.size());
  for (std::size_t p = 0; p < lse.size(); ++p) weights[p] = sfu::ex2_approx_ftz(unit, lse[p] - g);
  return weights;
}

// Depths in whole vectors fold a weight of 0 as fma(0, 0, acc), which turns -0 into +0; the others skip it.
inline bool folds_vectors(int ov_depth) {
  return ov_depth == 64 || ov_depth == 128 || ov_depth == 256 || ov_depth == 512;
}

// The f32 values of one row before the final rounding; nullopt where the contract stores zeros. o: [P, D] bits.
inline std::optional<std::vector<float>> scalar_accumulators(const CombineShape& shape, int p_static,
                                                             std::span<const float> lse,
                                                             std::span<const std::uint32_t> o, const sfu::Unit& unit) {
  const auto weights = scalar_weights(lse, shape.arch, p_static, unit);
  if (!weights) return std::nullopt;
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  std::vector<float> acc(depth, 0.0F);
  for (std::size_t p = 0; p < lse.size(); ++p) {
    const float w = (*weights)[p];
    if (w == 0.0F && !folds_vectors(shape.ov_depth)) continue;
    for (std::size_t d = 0; d < depth; ++d) {
      const float value = w != 0.0F ? static_cast<float>(decode(shape.partial, o[p * depth + d])) : 0.0F;
      acc[d] = std::fma(w, value, acc[d]);
    }
  }
  return acc;
}

inline std::vector<std::uint32_t> scalar_row(const CombineShape& shape, int p_static, std::span<const float> lse,
                                             std::span<const std::uint32_t> o, const sfu::Unit& unit) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(shape.ov_depth), 0);
  const auto acc = scalar_accumulators(shape, p_static, lse, o, unit);
  if (!acc) return out;
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = round_to_nearest_even(shape.out, (*acc)[d]);
  return out;
}

}  // namespace lsecheck::sm100
