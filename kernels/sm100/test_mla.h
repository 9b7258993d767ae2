#pragma once

#include "kernels/sm100/mla_combine_kernel.h"
#include "kernels/sm100/mla_instantiation_table.h"
#include "kernels/sm100/test_combine.h"

// What the tests of the MLA combines share: rows with sinks, a launch of them, and the contract written once more as
// plain loops over one row.
namespace lsecheck::sm100 {

struct MlaBatch : RowBatch {
  using RowBatch::RowBatch;
  std::vector<float> sink;  // [heads], or empty

  std::optional<float> sink_of(std::size_t row_head) const {
    return sink.empty() ? std::nullopt : std::optional(sink[row_head % shape.heads]);
  }
};

inline std::vector<std::uint32_t> launch_mla_batch(const CombineKernel& kernel, const MlaBatch& batch,
                                                   const KernelVariant& variant, const ExecutionOptions& options = {}) {
  EXPECT_EQ(kernel.refuse(batch.shape), std::nullopt);
  const auto bytes_of = [](const std::vector<float>& values) {
    return std::vector<std::byte>(reinterpret_cast<const std::byte*>(values.data()),
                                  reinterpret_cast<const std::byte*>(values.data() + values.size()));
  };
  const std::vector<std::byte> lse = bytes_of(batch.lse);
  const std::vector<std::byte> sink = bytes_of(batch.sink);
  const std::vector<std::byte> o = to_storage(batch.shape.partial, batch.o);
  std::vector<std::byte> output(batch.rows_heads() * batch.depth() * size_of(batch.shape.out), std::byte{0xa5});
  const auto fault = kernel.launch(batch.shape, variant, {lse, o, output, sink}, options);
  EXPECT_FALSE(fault.has_value()) << fault->message;
  return from_storage(batch.shape.out, output);
}

// mla_combine's weights of one row.
inline std::vector<float> mla_scalar_weights(std::span<const float> lse, std::optional<float> sink, Arch arch,
                                             const sfu::Unit& unit) {
  const std::size_t slots = (lse.size() + 31) / 32;
  std::array<float, 32> maximum{}, sum{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    maximum[lane] = kEmpty;
    for (std::size_t p = lane; p < 32 * slots; p += 32) {
      const float value = p < lse.size() ? lse[p] : kEmpty;
      maximum[lane] = p == lane ? value : larger_number(maximum[lane], value);
    }
  }
  float m = maximum[0];
  for (const float value : maximum) {
    m = arch == Arch::sm_100a && (std::isnan(m) || std::isnan(value)) ? NAN : larger_number(m, value);
  }
  if (m == kEmpty) m = 0;
  for (std::size_t p = 0; p < lse.size(); ++p) sum[p % 32] += sfu::ex2_approx_ftz(unit, lse[p] - m);
  for (std::size_t offset = 16; offset > 0; offset /= 2) {
    const std::array<float, 32> before = sum;
    for (std::size_t lane = 0; lane < 32; ++lane) sum[lane] = before[lane] + before[lane ^ offset];
  }
  const bool empty = sum[0] == 0;
  float g = empty ? std::numeric_limits<float>::infinity() : sfu::lg2_approx(unit, sum[0]) + m;
  if (sink) {
    const float a = *sink * 0x1.715476p+0F;
    if (!empty) {
      g += sfu::lg2_approx(unit, 1.0F + sfu::ex2_approx_ftz(unit, a - g));
    } else if (a != kEmpty) {
      g = a;
    }
  }
  std::vector<float> weights;
  for (const float value : lse) weights.push_back(sfu::ex2_approx_ftz(unit, value - g));
  return weights;
}

// The f32 values of one row before the final rounding. o: [S, D] bits.
inline std::vector<float> mla_scalar_accumulators(const CombineShape& shape, std::span<const float> lse,
                                                  std::span<const std::uint32_t> o, std::optional<float> sink,
                                                  const sfu::Unit& unit) {
  const std::vector<float> weights = mla_scalar_weights(lse, sink, shape.arch, unit);
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  std::vector<float> acc(depth, 0.0F);
  for (std::size_t p = 0; p < lse.size(); ++p) {
    for (std::size_t d = 0; d < depth; ++d) {
      const float value = weights[p] != 0 ? static_cast<float>(decode(shape.partial, o[p * depth + d])) : 0.0F;
      acc[d] = std::fma(weights[p], value, acc[d]);
    }
  }
  return acc;
}

// mla_combine_split_parallel likewise.
inline std::vector<float> split_parallel_scalar_accumulators(const CombineShape& shape, std::span<const float> lse,
                                                             std::span<const std::uint32_t> o,
                                                             std::optional<float> sink, const sfu::Unit& unit) {
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const auto ex2 = [&](float x) { return sfu::ex2_approx_ftz(unit, x); };
  struct State {
    float m = kEmpty;
    float l = 0;
    std::vector<float> acc;
  };
  std::array<State, 8> warps;
  const std::size_t per_warp = (lse.size() + 7) / 8;
  for (std::size_t w = 0; w < 8; ++w) {
    State& state = warps[w];
    state.acc.assign(depth, 0.0F);
    for (std::size_t p = w * per_warp; p < std::min(lse.size(), (w + 1) * per_warp); ++p) {
      if (lse[p] == kEmpty) continue;
      const float n = larger_number(state.m, lse[p]);
      const float r = ex2(state.m - n);
      const float e = ex2(lse[p] - n);
      for (std::size_t d = 0; d < depth; ++d) {
        const float product = e * static_cast<float>(decode(shape.partial, o[p * depth + d]));
        state.acc[d] = std::fma(r, state.acc[d], product);
      }
      state.l = std::fma(state.l, r, e);
      state.m = n;
    }
  }
  for (const std::size_t stride : {4U, 2U, 1U}) {
    for (std::size_t w = 0; w < stride; ++w) {
      State& mine = warps[w];
      const State& partner = warps[w + stride];
      const float n = larger_number(mine.m, partner.m);
      const float r = n == kEmpty ? 0.0F : ex2(mine.m - n);
      const float partner_r = n == kEmpty ? 0.0F : ex2(partner.m - n);
      for (std::size_t d = 0; d < depth; ++d) {
        const float product = partner_r * partner.acc[d];
        mine.acc[d] = std::fma(r, mine.acc[d], product);
      }
      const float mass = partner.l * partner_r;
      mine.l = std::fma(mine.l, r, mass);
      mine.m = n;
    }
  }
  State& result = warps[0];
  if (sink) {
    const float a = *sink * 0x1.715476p+0F;
    result.l = result.m == kEmpty ? 0.0F : result.l + ex2(a - result.m);
  }
  const float inverse = result.l == 0 ? 0.0F : 1.0F / result.l;
  for (float& value : result.acc) value = inverse * value;
  return result.acc;
}

}  // namespace lsecheck::sm100
