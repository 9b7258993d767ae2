#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/sfu/sfu.h"
#include "properties/case_rows.h"
#include "properties/ordinary_rows.h"
#include "reference/float_format.h"

namespace lsecheck {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One row-head's problem: shape, its LSEs, and a stream for what the whole row shares.
struct Row {
  const CaseSpec& spec;
  std::uint64_t rh;
  std::span<const float> lse;
  std::span<const float> mass;  // that the values are divided by; empty: none
  PhiloxStream shared;
  std::vector<float> values;  // [P, ov_depth]

  std::size_t num_partitions() const { return spec.num_partitions; }
  std::size_t depth() const { return spec.ov_depth; }
  float* partition(std::size_t p) { return values.data() + p * depth(); }
  PhiloxStream stream(std::size_t p) const { return stream_for(spec, DrawPurpose::value, partition_index(rh, p)); }
};

// 2^exponent, a normal f32.
float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

float rounded_to(DType type, float x) {
  return static_cast<float>(decode(type, round_to_nearest_even(type, static_cast<double>(x))));
}

void fill_normal(Row& row) {
  const float scale = normal_row_scale(row.shared.next_u64());
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    PhiloxStream stream = row.stream(p);
    float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) values[d] = scale * stream.normal();
  }
}

// The largest finite LSE: the partition whose weight is the least rounded.
std::optional<std::size_t> heaviest(std::span<const float> lse) {
  std::optional<std::size_t> best;
  for (std::size_t p = 0; p < lse.size(); ++p) {
    if (!std::isfinite(lse[p])) continue;
    if (!best || lse[p] > lse[*best]) best = p;
  }
  return best;
}

// The heaviest partition's values undo the weighted sum of all others, as far as the partial type can hold that.
void cancel_into_heaviest(Row& row, std::size_t heavy) {
  std::vector<float> sum(row.depth(), 0.0F);
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    if (p == heavy || !std::isfinite(row.lse[p])) continue;
    const float share = row.mass.empty() ? 1.0F : row.mass[p] / row.mass[heavy];
    const float weight = sfu::h200_ex2_approx_ftz(row.lse[p] - row.lse[heavy]) * share;
    const float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      sum[d] = std::fma(weight, rounded_to(row.spec.partial, values[d]), sum[d]);
    }
  }
  float* values = row.partition(heavy);
  // Masses may put more weight on the others than on the heaviest: cut at what the partial type holds.
  const auto largest = static_cast<float>(max_finite(row.spec.partial));
  for (std::size_t d = 0; d < row.depth(); ++d) values[d] = std::clamp(-sum[d], -largest, largest);
}

// Neighbouring non-empty partitions hold nearly opposite values: cancels where the weights are alike.
void alternate_signs(Row& row) {
  PhiloxStream common = row.stream(row.num_partitions());
  std::vector<float> centre(row.depth());
  for (float& x : centre) x = common.normal();
  const float noise = power_of_two(-static_cast<int>(row.shared.below(16)));
  bool negative = false;
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    if (row.lse[p] == -kInfinity) continue;
    PhiloxStream stream = row.stream(p);
    float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      const float value = std::fma(noise, stream.uniform(), centre[d]);
      values[d] = negative ? -value : value;
    }
    negative = !negative;
  }
}

void fill_cancelling(Row& row) {
  const std::optional<std::size_t> heavy = heaviest(row.lse);
  if (row.shared.chance(1, 2) || !heavy) {
    alternate_signs(row);
  } else {
    fill_normal(row);
    cancel_into_heaviest(row, *heavy);
  }
}

// Every partition holds the same value, so the exact result is that value whatever the weights. With f32 partials and a
// 16-bit output half of the rows sit exactly between two output values: a tie that no finite precision of the weights
// decides.
void fill_constant(Row& row) {
  const bool midpoint = row.shared.chance(1, 2) && row.spec.partial == DType::f32 && row.spec.out != DType::f32;
  const int dropped_bits = 24 - format_of(row.spec.out).precision;
  PhiloxStream common = row.stream(0);
  std::vector<float> constant(row.depth());
  for (float& x : constant) {
    x = common.normal();
    if (midpoint) {
      // Normal in the output type, so that its last bit is dropped_bits places above f32's.
      const float magnitude = std::max(std::fabs(x), power_of_two(-14));
      const std::uint32_t half = 1u << (dropped_bits - 1);
      const std::uint32_t kept = std::bit_cast<std::uint32_t>(magnitude) & ~(2 * half - 1);
      x = std::copysign(std::bit_cast<float>(kept | half), x);
    }
  }
  for (std::size_t p = 0; p < row.num_partitions(); ++p) std::copy(constant.begin(), constant.end(), row.partition(p));
}

// Element d sees one partition only: the output is that partition's weight times a power of two. Zeros of both signs
// elsewhere.
void fill_one_hot(Row& row) {
  const std::size_t offset = row.shared.below(row.num_partitions());
  const float hot = power_of_two(static_cast<int>(row.shared.between(-2, 2)));
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    PhiloxStream stream = row.stream(p);
    float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      const bool negative = stream.next_u32() >> 31 != 0;
      const float magnitude = (d + offset) % row.num_partitions() == p ? hot : 0.0F;
      values[d] = negative ? -magnitude : magnitude;
    }
  }
}

// Near the end of the range: of the partial type, or (half of the rows) of the output type, past which Inf is due.
void fill_huge(Row& row) {
  const bool output_range = row.shared.chance(1, 2);
  const bool one_sign = row.shared.chance(1, 2);
  const auto partial_max = static_cast<float>(max_finite(row.spec.partial));
  const float scale = output_range ? static_cast<float>(max_finite(row.spec.out)) : partial_max;
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    PhiloxStream stream = row.stream(p);
    float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      // 0.75 .. 1.25 of the scale, cut at what the partial type holds; the product may pass f32's range before the cut.
      const float magnitude = std::min(scale * stream.uniform_between(0.75F, 1.25F), partial_max);
      const bool negative = stream.next_u32() >> 31 != 0 && !one_sign;
      values[d] = negative ? -magnitude : magnitude;
    }
  }
}

// Subnormals and the first normals of the partial type, or (half of the rows) of the output type.
void fill_subnormal(Row& row) {
  const DType type = row.shared.chance(1, 2) ? row.spec.partial : row.spec.out;
  const auto unit = static_cast<float>(smallest_subnormal(type));
  const std::uint64_t one_binade = std::uint64_t{1} << (format_of(type).precision - 1);
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    PhiloxStream stream = row.stream(p);
    float* values = row.partition(p);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      // From 0 to 2 * smallest normal, and near 0 as often; an integer below 2^24 times a power of two, so exact.
      const std::uint64_t far = stream.below(2 * one_binade);
      const std::uint64_t near = stream.below(8);
      const std::uint32_t word = stream.next_u32();
      const float magnitude = unit * static_cast<float>((word & 1u) != 0 ? near : far);
      values[d] = word >> 31 != 0 ? -magnitude : magnitude;
    }
  }
}

float nonfinite_value(PhiloxStream& stream) {
  constexpr std::array<float, 3> kValues{std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  return kValues[stream.below(kValues.size())];
}

// Normal values, with Inf or NaN in the partition of least weight (which may underflow and so hide it) and in one drawn
// at random.
void fill_nonfinite(Row& row) {
  fill_normal(row);
  std::vector<std::size_t> present;
  for (std::size_t p = 0; p < row.num_partitions(); ++p) {
    if (row.lse[p] != -kInfinity) present.push_back(p);
  }
  if (present.empty()) return;
  const auto least = *std::min_element(present.begin(), present.end(),
                                       [&](std::size_t a, std::size_t b) { return row.lse[a] < row.lse[b]; });
  const std::size_t other = present[row.shared.below(present.size())];
  const bool least_only = row.shared.chance(1, 2);
  for (const std::size_t p : {least, least_only ? least : other}) {
    float* values = row.partition(p);
    const std::size_t certain = row.shared.below(row.depth());
    values[certain] = nonfinite_value(row.shared);
    const std::uint64_t sixteenths = row.shared.below(3);
    for (std::size_t d = 0; d < row.depth(); ++d) {
      const float value = nonfinite_value(row.shared);
      if (row.shared.chance(sixteenths, 16)) values[d] = value;
    }
  }
}

}  // namespace

std::vector<float> draw_value_row(const CaseSpec& spec, std::uint64_t rh, std::span<const float> lse,
                                  std::span<const float> mass) {
  const std::size_t elements = std::size_t{spec.num_partitions} * spec.ov_depth;
  Row row{spec, rh, lse, mass, stream_for(spec, DrawPurpose::value_row, rh), std::vector<float>(elements, 0.0F)};
  switch (spec.values) {
    case ValueRegime::cancelling:
      fill_cancelling(row);
      break;
    case ValueRegime::constant:
      fill_constant(row);
      break;
    case ValueRegime::one_hot:
      fill_one_hot(row);
      break;
    case ValueRegime::huge:
      fill_huge(row);
      break;
    case ValueRegime::subnormal:
      fill_subnormal(row);
      break;
    case ValueRegime::nonfinite:
      fill_nonfinite(row);
      break;
    case ValueRegime::normal:
    case ValueRegime::attention:
      fill_normal(row);
      break;
  }
  return std::move(row.values);
}

}  // namespace lsecheck
