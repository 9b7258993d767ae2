#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/case_rows.h"

// Masses beside the exponents, and the forms that exponents are read in.
namespace lsecheck {
namespace {

constexpr float kLn2 = 0x1.62e43p-1F;
constexpr float kLog2e = 0x1.715476p+0F;

float draw_mass(PhiloxStream& stream, MassRegime regime) {
  const float normal = stream.normal();
  const auto keys = static_cast<float>(stream.between(1, 4096));
  const auto rescaled = static_cast<int>(stream.between(0, 8));
  const auto binade = static_cast<int>(stream.between(-20, 19));
  const float significand = stream.uniform_between(1, 2);
  // Bit patterns of positive f32 below 2^-124: all subnormals and the first two normal binades.
  const auto tiny = static_cast<std::uint32_t>(stream.between(1, (3 << 23) - 1));
  switch (regime) {
    case MassRegime::near_one:
      return std::min(1 + std::fabs(normal), 3.0F);
    case MassRegime::counts:
      return std::ldexp(keys, rescaled);
    case MassRegime::spread:
      return std::ldexp(significand, binade);
    case MassRegime::tiny:
      return std::bit_cast<float>(tiny);
    case MassRegime::unit:
      break;
  }
  return 1;
}

}  // namespace

std::vector<float> draw_mass_row(const CaseSpec& spec, std::uint64_t rh) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::mass, rh);
  std::vector<float> mass(spec.num_partitions);
  for (float& l : mass) l = draw_mass(stream, spec.mass);
  return mass;
}

void overlay_mass_policy(const CaseSpec& spec, std::uint64_t rh, std::span<float> mass) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::mass_policy, rh);
  const bool plant = stream.chance(1, 4);
  const std::size_t where = draw_partition(stream, mass.size());
  if (plant) mass[where] = std::numeric_limits<float>::quiet_NaN();
}

float draw_exponent_scale(const CaseSpec& spec) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::exponent_scale, 0);
  const std::uint64_t kind = stream.below(4);
  const auto binade = static_cast<int>(stream.between(-12, 6));
  const float significand = stream.uniform_between(1, 2);
  if (kind == 0) return 1;
  // What production multiplies scores by; both operations are correctly rounded.
  if (kind <= 2) return kLog2e / std::sqrt(static_cast<float>(spec.ov_depth));
  return std::ldexp(significand, binade);
}

float in_exponent_form(const CaseSpec& spec, float exponent_scale, float log2_units) {
  if (!std::isfinite(log2_units)) return log2_units;
  constexpr float kLargest = std::numeric_limits<float>::max();
  switch (spec.exponent) {
    case ExponentForm::natural:
      return log2_units * kLn2;
    case ExponentForm::scaled:
      return std::clamp(log2_units / exponent_scale, -kLargest, kLargest);
    case ExponentForm::log2:
      break;
  }
  return log2_units;
}

}  // namespace lsecheck
