#include "fuzz/hunt_mutation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/case_rows.h"

namespace lsecheck {

namespace {

constexpr double kSmallestValue = 0x1p-12;
constexpr double kLargestValue = 0x1p+12;
constexpr float kSmallestMass = 1;
constexpr float kLargestMass = 0x1p20F;

std::uint32_t sign_bit(DType type) {
  return std::uint32_t{1} << (format_of(type).bits - 1);
}

// The low bits of a pattern, changed: one flipped, some drawn again, or a few steps along the number line.
std::uint32_t mutated_fraction(std::uint32_t bits, int fraction_bits, PhiloxStream& random) {
  const auto place = static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(fraction_bits)));
  const std::uint32_t low_bits = (std::uint32_t{2} << place) - 1;
  const std::uint32_t drawn = random.next_u32() & low_bits;
  const auto steps = static_cast<std::uint32_t>(1 + random.below(8));
  switch (random.below(4)) {
    case 0:
      return bits ^ (std::uint32_t{1} << place);
    case 1:
      return (bits & ~low_bits) | drawn;
    case 2:
      return bits + steps;
    default:
      return bits - steps;
  }
}

float mutated_float(float x, PhiloxStream& random) {
  return std::bit_cast<float>(mutated_fraction(std::bit_cast<std::uint32_t>(x), 23, random));
}

bool value_in_range(DType type, std::uint32_t bits) {
  const double size = std::abs(decode(type, bits));
  return size == 0 || (size >= kSmallestValue && size <= kLargestValue);
}

std::uint32_t& value_at(const CaseSpec& spec, HuntRow& row, std::size_t p, std::size_t d) {
  return row.o[p * spec.ov_depth + d];
}

void swap_partitions(const CaseSpec& spec, HuntRow& row, std::size_t p, std::size_t q) {
  std::swap(row.lse[p], row.lse[q]);
  if (!row.mass.empty()) std::swap(row.mass[p], row.mass[q]);
  for (std::size_t d = 0; d < spec.ov_depth; ++d) std::swap(value_at(spec, row, p, d), value_at(spec, row, q, d));
}

// A new exponent for partition p, one that is not empty; ties keep to the values that the row has.
float mutated_exponent(const CaseSpec& spec, const HuntRow& row, std::size_t p, PhiloxStream& random) {
  const float other = row.lse[random.below(row.lse.size())];
  const float between = random.uniform();
  const std::uint64_t kind = random.below(8);
  const float drawn = mutated_float(row.lse[p], random);
  if (kind < 2 || spec.lse == LseRegime::ties) return other;
  return kind == 2 ? std::fma(between, other - row.lse[p], row.lse[p]) : drawn;
}

void mutate_mass(HuntRow& row, std::size_t p, PhiloxStream& random) {
  const float other = row.mass[random.below(row.mass.size())];
  const bool copy = random.chance(1, 8);
  const float drawn = mutated_float(row.mass[p], random);
  const float mass = copy ? other : drawn;
  if (mass >= kSmallestMass && mass <= kLargestMass) row.mass[p] = mass;
}

bool is_empty_partition(const HuntRow& row, std::size_t p) {
  return row.lse[p] == -INFINITY || (!row.mass.empty() && row.mass[p] == 0);
}

// Every exponent moved by one amount, so that one of them is a mutation of itself or anywhere in the regime's range.
void shift_exponents(const CaseSpec& spec, HuntRow& row, PhiloxStream& random) {
  const float x = row.lse[random.below(row.lse.size())];
  const RegimeRange range = range_of(spec.lse);
  const float anywhere = random.uniform_between(static_cast<float>(range.low), static_cast<float>(range.high));
  const bool far = random.chance(1, 2);
  const float near = mutated_float(x, random);
  const float shift = (far ? in_exponent_form(spec, hunt_exponent_scale(spec), anywhere) : near) - x;
  if (!std::isfinite(shift)) return;
  for (float& exponent : row.lse) exponent += shift;
}

}  // namespace

std::uint32_t mutated_value(DType type, std::uint32_t bits, PhiloxStream& random) {
  const int fraction_bits = format_of(type).precision - 1;
  const std::uint32_t binade = std::uint32_t{1} << fraction_bits;
  const std::uint64_t kind = random.below(16);
  std::uint32_t result = mutated_fraction(bits, fraction_bits, random);
  if (kind == 0) result = bits + binade;
  if (kind == 1) result = bits - binade;
  if (kind == 2) result = bits ^ sign_bit(type);
  return value_in_range(type, result) ? result : bits;
}

void mutate_weights(const CaseSpec& spec, HuntRow& row, PhiloxStream& random) {
  const std::size_t p = random.below(row.lse.size());
  const std::size_t q = random.below(row.lse.size());
  const std::uint64_t kind = random.below(8);
  const std::vector<float> before = row.lse;
  if (kind == 0) {
    swap_partitions(spec, row, p, q);
  } else if (kind == 1 && spec.lse != LseRegime::ties) {
    shift_exponents(spec, row, random);
  } else if (is_empty_partition(row, p)) {
    return;
  } else if (kind < 4 && !row.mass.empty()) {
    mutate_mass(row, p, random);
  } else {
    row.lse[p] = mutated_exponent(spec, row, p, random);
    if (row.lse[p] == -INFINITY) row.lse[p] = before[p];
  }
  if (!inside_regime(spec, hunt_exponent_scale(spec), row.lse)) row.lse = before;
}

void cross_rows(const CaseSpec& spec, HuntRow& row, const HuntRow& other, PhiloxStream& random) {
  const HuntRow before = row;
  const std::size_t depth = spec.ov_depth;
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    if (random.chance(1, 2)) continue;
    row.lse[p] = other.lse[p];
    if (!row.mass.empty()) row.mass[p] = other.mass[p];
    const auto at = static_cast<std::ptrdiff_t>(p * depth);
    std::copy_n(other.o.begin() + at, depth, row.o.begin() + at);
  }
  if (!inside_regime(spec, hunt_exponent_scale(spec), row.lse)) row = before;
}

void plant_large_first(const CaseSpec& spec, HuntRow& row, std::size_t d, PhiloxStream& random) {
  const float exponent_scale = hunt_exponent_scale(spec);
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    const float first = random.uniform_between(0x1p10F, 0x1p12F);
    const float small = random.uniform_between(0.25F, 2);
    float size = first;
    if (p > 0 && std::isfinite(row.lse[p]) && std::isfinite(row.lse[0])) {
      const double below = log2_units(spec, exponent_scale, row.lse[0]) - log2_units(spec, exponent_scale, row.lse[p]);
      size = std::ldexp(small, static_cast<int>(std::clamp(below, -10.0, 11.0)));
    }
    value_at(spec, row, p, d) = round_to_nearest_even(spec.partial, static_cast<double>(size));
  }
}

void plant_columns(const CaseSpec& spec, HuntRow& row, PhiloxStream& random) {
  const std::size_t n = row.lse.size();
  for (std::size_t d = 0; d < spec.ov_depth; ++d) {
    const std::size_t alone = random.below(n);
    const auto size = static_cast<double>(random.uniform_between(1, 2));
    switch (d % 4) {
      case 0:  // as drawn
        break;
      case 1:
        for (std::size_t p = 0; p < n; ++p) {
          value_at(spec, row, p, d) = p == alone ? round_to_nearest_even(spec.partial, size) : 0;
        }
        break;
      case 2:
        plant_large_first(spec, row, d, random);
        break;
      default:
        for (std::size_t p = 0; p < n; ++p) value_at(spec, row, p, d) &= ~sign_bit(spec.partial);
        break;
    }
  }
}

void sort_by_exponent(const CaseSpec& spec, HuntRow& row) {
  for (std::size_t p = 0; p < row.lse.size(); ++p) {
    const auto largest = std::max_element(row.lse.begin() + static_cast<std::ptrdiff_t>(p), row.lse.end());
    swap_partitions(spec, row, p, static_cast<std::size_t>(largest - row.lse.begin()));
  }
}

}  // namespace lsecheck
