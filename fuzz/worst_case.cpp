#include "fuzz/worst_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "fuzz/worst_text.h"
#include "properties/case_kernel.h"

namespace lsecheck {

namespace {

// At most kMost items, so that a long line takes no more memory than any case.
std::vector<std::string_view> split(std::string_view key, std::string_view text) {
  constexpr std::size_t kMost = 1024;
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t comma = text.find(',');
    items.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    if (items.size() == kMost) refuse_field(key, text, "more items than a case has partitions");
    text.remove_prefix(comma + 1);
  }
}

std::vector<float> parse_floats(std::string_view key, std::string_view text) {
  std::vector<float> values;
  for (const std::string_view item : split(key, text)) values.push_back(parse_hex_float_field<float>(key, item));
  return values;
}

// What the kernel would not be launched with.
void check(const WorstCase& worst) {
  const HuntTarget& target = worst.target;
  const auto n = static_cast<std::size_t>(target.num_partitions);
  if (target.num_partitions < 1 || worst.lse.size() != n || worst.o.size() != n) {
    throw std::invalid_argument(
        fmt::format("P={}, but {} in lse and {} in o", target.num_partitions, worst.lse.size(), worst.o.size()));
  }
  const CombineKernel* const kernel = registered_kernel(target.kernel);
  if (kernel == nullptr) throw std::invalid_argument(fmt::format("no kernel {}", name_of(target.kernel)));
  if (worst.mass.size() != (kernel->takes_masses() ? n : 0)) {
    throw std::invalid_argument(fmt::format("{} masses for P={} of {}", worst.mass.size(), n, name_of(target.kernel)));
  }
  if (!(worst.exponent_scale >= 0x1p-126F) || !std::isfinite(worst.exponent_scale) ||
      (target.exponent != ExponentForm::scaled && worst.exponent_scale != 1)) {
    throw std::invalid_argument(
        fmt::format("scale={:a}: positive, finite, normal, and 1 unless exponent=scaled", worst.exponent_scale));
  }
  const bool finite =
      std::none_of(worst.mass.begin(), worst.mass.end(), [](float l) { return !(l >= 0 && std::isfinite(l)); });
  if (!finite) throw std::invalid_argument("mass: finite numbers from 0 upward");
  const std::uint32_t bits_above = target.partial == DType::f32 ? 0 : 0xffff0000U;
  for (const std::uint32_t bits : worst.o) {
    if ((bits & bits_above) != 0) {
      throw std::invalid_argument(fmt::format("o={:x}: more than the bits of {}", bits, name_of(target.partial)));
    }
  }
  if (worst.ov_depth < 1 || worst.ov_depth > 4096 || target.num_partitions > 4096) {
    throw std::invalid_argument(fmt::format("D={} P={}: more than any kernel takes", worst.ov_depth, n));
  }
}

}  // namespace

std::string format_worst_case(const WorstCase& worst) {
  const auto hex = [](const std::vector<float>& values) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (const float value : values) texts.push_back(fmt::format("{:a}", value));
    return fmt::format("{}", fmt::join(texts, ","));
  };
  return fmt::format("{} variant={} unit=h200 D={} scale={:a} value={:a} lse={} mass={} o={:x}",
                     format_target(worst.target), worst.variant, worst.ov_depth, worst.exponent_scale, worst.value,
                     hex(worst.lse), worst.mass.empty() ? "none" : hex(worst.mass), fmt::join(worst.o, ","));
}

WorstCase parse_worst_case(std::string_view line) {
  constexpr std::string_view kKeys[] = {"kernel",  "out",  "partial", "arch",  "exponent", "P",   "regime", "metric",
                                        "variant", "unit", "D",       "scale", "value",    "lse", "mass",   "o"};
  const std::vector<std::string> fields = parse_fields(line, kKeys);
  WorstCase worst;
  worst.target = parse_target(fields);
  worst.variant = fields[8];
  if (fields[9] != "h200") refuse_field("unit", fields[9], "the hunter knows h200 alone");
  worst.ov_depth = parse_integer_field<std::uint16_t>("D", fields[10]);
  worst.exponent_scale = parse_hex_float_field<float>("scale", fields[11]);
  worst.value = parse_hex_float_field<double>("value", fields[12]);
  worst.lse = parse_floats("lse", fields[13]);
  if (fields[14] != "none") worst.mass = parse_floats("mass", fields[14]);
  for (const std::string_view item : split("o", fields[15])) {
    worst.o.push_back(parse_integer_field<std::uint32_t>("o", item, 16));
  }
  check(worst);
  return worst;
}

}  // namespace lsecheck
