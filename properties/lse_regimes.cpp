#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/case_rows.h"
#include "properties/ordinary_rows.h"

// LSEs are in the log2 domain throughout.
namespace lsecheck {
namespace {

using Row = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Row narrow(PhiloxStream& stream, std::size_t n) {
  const std::uint32_t first_word = stream.next_u32();
  const NarrowRow row = narrow_row(first_word, stream.next_u32());
  Row lse(n);
  for (float& x : lse) x = narrow_lse(row, stream.next_u32());
  return lse;
}

Row dominant(PhiloxStream& stream, std::size_t n) {
  // From "the rest still counts" to "the rest is below the output's last bit".
  const float gap = stream.uniform_between(4, 40);
  Row lse = narrow(stream, n);
  lse[draw_partition(stream, n)] += gap;
  return lse;
}

// Any finite f32 at all: sign, exponent field and fraction drawn apart; subnormals and both zeros included.
float any_finite(PhiloxStream& stream) {
  const std::uint32_t word = stream.next_u32();
  const auto exponent_field = static_cast<std::uint32_t>(stream.below(255));
  return std::bit_cast<float>((word & 0x807fffffu) | exponent_field << 23);
}

Row extreme_spread(PhiloxStream& stream, std::size_t n) {
  constexpr std::array<float, 5> kHalfWidths{40, 75, 150, 300, 20000};
  const float half_width = kHalfWidths[stream.below(kHalfWidths.size())];
  const std::uint64_t kind = stream.below(8);
  Row lse(n);
  if (kind == 0) {
    // Differences that overflow f32, and exact differences of some 280 bits.
    for (float& x : lse) x = any_finite(stream);
  } else if (kind <= 3) {
    // An even descent from the maximum: every weight from 1 to below the last subnormal.
    const float step = 2 * half_width / static_cast<float>(n);
    const std::size_t first = stream.below(n);
    for (std::size_t p = 0; p < n; ++p) lse[(first + p) % n] = half_width - step * static_cast<float>(p);
  } else {
    for (float& x : lse) x = stream.uniform_between(-half_width, half_width);
  }
  return lse;
}

Row large_magnitude(PhiloxStream& stream, std::size_t n) {
  // 1e2 .. 1e6, then around and past 2^24, where log2 of the sum is absorbed by the maximum.
  constexpr std::array<float, 9> kMagnitudes{1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 0x1p23F, 0x1p24F, 0x1p26F, 0x1p60F};
  const float scale = kMagnitudes[stream.below(kMagnitudes.size())];
  const float magnitude = scale * stream.uniform_between(0.5F, 1);
  const float base = stream.chance(1, 2) ? magnitude : -magnitude;
  // A few ulps of the base where an ulp exceeds a unit; else a few units.
  const float half_width = std::max(2.0F, magnitude * 0x1p-22F);
  Row lse(n);
  for (float& x : lse) x = base + stream.uniform_between(-half_width, half_width);
  return lse;
}

// A processed but fully masked partition: the finite mask sentinel plus the log2 of its number of keys.
float masked_partition(PhiloxStream& stream, float sentinel) {
  return sentinel + stream.uniform_between(0, 17);
}

Row masked_sentinel(PhiloxStream& stream, std::size_t n) {
  // -1e4 in log2 units, -1e4 in natural units, and the exactly representable -2^100.
  constexpr std::array<float, 3> kSentinels{-1e4F, -14426.95F, -0x1p100F};
  const float sentinel = kSentinels[stream.below(kSentinels.size())];
  const bool whole_row = stream.chance(1, 2);
  const std::uint64_t eighths = 1 + stream.below(7);
  Row lse = narrow(stream, n);
  for (float& x : lse) {
    const bool masked = stream.chance(eighths, 8);
    const float value = masked_partition(stream, sentinel);
    if (whole_row || masked) x = value;
  }
  return lse;
}

Row ties(PhiloxStream& stream, std::size_t n) {
  const auto base = static_cast<float>(stream.between(-12, 12));
  const std::uint64_t kind = stream.below(5);
  const float fraction = stream.uniform();
  Row lse(n);
  for (float& x : lse) {
    const std::uint64_t pick = stream.below(9);
    switch (kind) {
      case 0:
        x = base;
        break;
      case 1:
        x = base + static_cast<float>(pick % 2);
        break;
      case 2:
        x = static_cast<float>(pick) - 4;
        break;
      case 3:
        x = base + fraction;
        break;
      default:
        x = pick % 2 == 0 ? 0.0F : -0.0F;
        break;
    }
  }
  return lse;
}

Row flushed_weights(PhiloxStream& stream, std::size_t n) {
  // Weights are flushed below 2^-126; 2^-149 is the last subnormal and 2^-150 half of it.
  constexpr std::array<float, 12> kGaps{124, 125, 125.5F, 126, 126.5F, 127, 128, 140, 148, 149, 150, 151};
  constexpr std::array<float, 5> kNudges{0, 0x1p-16F, -0x1p-16F, 0x1p-12F, -0x1p-12F};
  const auto top = static_cast<float>(stream.between(-8, 8));
  const std::uint64_t sixteenths_near = stream.below(5);
  Row lse(n);
  for (float& x : lse) {
    const bool near = stream.chance(sixteenths_near, 16);
    const bool on_edge = stream.chance(1, 2);
    const float gap = kGaps[stream.below(kGaps.size())];
    const float nudge = kNudges[stream.below(kNudges.size())];
    const float wide = stream.uniform_between(116, 156);
    const float close = stream.uniform_between(0, 6);
    x = top - (near ? close : on_edge ? gap + nudge : wide);
  }
  lse[draw_partition(stream, n)] = top;
  return lse;
}

// A quiet NaN; payload and sign vary because nothing may depend on them.
float any_nan(PhiloxStream& stream) {
  return std::bit_cast<float>(0x7fc00000u | (stream.next_u32() & 0x803fffffu));
}

}  // namespace

std::vector<float> draw_lse_row(const CaseSpec& spec, std::uint64_t rh) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::lse, rh);
  const std::size_t n = spec.num_partitions;
  switch (spec.lse) {
    case LseRegime::dominant:
      return dominant(stream, n);
    case LseRegime::extreme_spread:
      return extreme_spread(stream, n);
    case LseRegime::large_magnitude:
      return large_magnitude(stream, n);
    case LseRegime::masked_sentinel:
      return masked_sentinel(stream, n);
    case LseRegime::ties:
      return ties(stream, n);
    case LseRegime::flushed_weights:
      return flushed_weights(stream, n);
    case LseRegime::narrow:
    case LseRegime::attention:
    case LseRegime::policy:
      break;
  }
  return narrow(stream, n);
}

float draw_sink(const CaseSpec& spec, std::uint64_t rh, std::span<const float> lse) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::attention_sink, rh);
  constexpr float kLn2 = 0x1.62e43p-1F;
  constexpr std::array<float, 6> kFar{0, 60, 86.5F, 88, 89.5F, 1000};  // natural units; 2^126 .. 2^129 are 87.3 .. 89.4
  const std::uint64_t kind = stream.below(8);
  const float plain = stream.uniform_between(-4, 12);
  const float beside = stream.uniform_between(-3, 3);
  const float far = kFar[stream.below(kFar.size())];
  const bool above = stream.chance(1, 2);
  if (kind < 3) return plain;
  float largest = -kInfinity;
  for (const float x : lse) {
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  const float mass = std::isfinite(largest) ? largest * kLn2 : 0.0F;
  const float sink = mass + beside + (kind < 6 ? 0.0F : above ? far : -far);
  return std::isfinite(sink) ? sink : plain;
}

void overlay_policy(const CaseSpec& spec, std::uint64_t rh, std::span<float> lse) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::policy, rh);
  const std::uint64_t kind = stream.below(7);
  const std::size_t where = draw_partition(stream, lse.size());
  const auto empty_all = [&] {
    for (float& x : lse) x = -kInfinity;
  };
  switch (kind) {
    case 0:  // one NaN among whatever the row has
      lse[where] = any_nan(stream);
      break;
    case 1:
    case 2:  // every other partition empty: chips differ, and so do the slots of one lane
      empty_all();
      lse[where] = any_nan(stream);
      break;
    case 3:
      lse[where] = kInfinity;
      break;
    case 4:
      empty_all();
      lse[where] = kInfinity;
      break;
    case 5:
      for (float& x : lse) x = any_nan(stream);
      break;
    default:
      for (float& x : lse) {
        const std::uint64_t pick = stream.below(8);
        const float nan = any_nan(stream);
        if (pick == 0) x = nan;
        if (pick == 1) x = kInfinity;
        if (pick >= 4) x = -kInfinity;
      }
      break;
  }
}

}  // namespace lsecheck
