#include "fuzz/worst_text.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace lsecheck {

namespace {

template <class Enum, std::size_t n>
Enum parse_name(std::string_view key, std::string_view text, const std::array<Enum, n>& values) {
  for (const Enum value : values) {
    if (name_of(value) == text) return value;
  }
  refuse_field(key, text, "no such name");
}

constexpr std::array<KernelId, kKernelCount> kKernels = [] {
  std::array<KernelId, kKernelCount> kernels{};
  for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i] = static_cast<KernelId>(i);
  return kernels;
}();
constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};
constexpr std::array<ExponentForm, kExponentFormCount> kForms{ExponentForm::log2, ExponentForm::natural,
                                                              ExponentForm::scaled};

}  // namespace

void refuse_field(std::string_view key, std::string_view value, std::string_view due) {
  throw std::invalid_argument(fmt::format("{}={}: {}", key, value.substr(0, 60), due));
}

KernelId parse_kernel_field(std::string_view text) {
  return parse_name("kernel", text, kKernels);
}

DType parse_type_field(std::string_view key, std::string_view text) {
  return parse_name(key, text, kTypes);
}

std::vector<std::string> parse_fields(std::string_view text, std::span<const std::string_view> keys) {
  std::vector<std::string> values;
  for (const std::string_view key : keys) {
    const std::string opening = fmt::format("{}{}=", values.empty() ? "" : " ", key);
    if (!text.starts_with(opening)) {
      throw std::invalid_argument(fmt::format("'{}' is due, there is '{}'", opening, text.substr(0, 40)));
    }
    text.remove_prefix(opening.size());
    const std::string_view value = text.substr(0, text.find(' '));
    values.emplace_back(value);
    text.remove_prefix(value.size());
  }
  if (!text.empty()) throw std::invalid_argument(fmt::format("'{}' follows the last field", text.substr(0, 40)));
  return values;
}

std::string format_target(const HuntTarget& target) {
  return fmt::format("kernel={} out={} partial={} arch={} exponent={} P={} regime={} metric={}", name_of(target.kernel),
                     name_of(target.out), name_of(target.partial), name_of(target.arch), name_of(target.exponent),
                     target.num_partitions, name_of(target.regime), name_of(target.metric));
}

HuntTarget parse_target(std::span<const std::string> fields) {
  HuntTarget target;
  target.kernel = parse_kernel_field(fields[0]);
  target.out = parse_type_field("out", fields[1]);
  target.partial = parse_type_field("partial", fields[2]);
  target.arch = parse_name("arch", fields[3], kAllArchs);
  target.exponent = parse_name("exponent", fields[4], kForms);
  target.num_partitions = parse_integer_field<std::uint16_t>("P", fields[5]);
  const auto regime = parse_hunt_regime(fields[6]);
  if (!regime) refuse_field("regime", fields[6], "no regime that is hunted in");
  target.regime = *regime;
  const auto metric = parse_hunt_metric(fields[7]);
  if (!metric) refuse_field("metric", fields[7], "no such metric");
  target.metric = *metric;
  return target;
}

}  // namespace lsecheck
