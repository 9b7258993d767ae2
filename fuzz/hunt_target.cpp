#include "fuzz/hunt_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "properties/case_expand.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/case_rows.h"
#include "properties/laws.h"
#include "properties/token.h"

namespace lsecheck {

namespace {

constexpr std::array<HuntMetric, 4> kMetrics{HuntMetric::ulp, HuntMetric::scaled_ulp, HuntMetric::steps,
                                             HuntMetric::bound_use};
constexpr std::array<LseRegime, 4> kRegimes{LseRegime::narrow, LseRegime::dominant, LseRegime::ties,
                                            LseRegime::attention};
constexpr std::array<ValueRegime, 4> kValues{ValueRegime::normal, ValueRegime::cancelling, ValueRegime::constant,
                                             ValueRegime::one_hot};
constexpr std::array<MassRegime, 2> kMasses{MassRegime::near_one, MassRegime::counts};

// The smallest from 2, the largest, and between them the one next to 37, which production launches most where it is off
// the ladder, or to half the largest.
std::vector<int> usual_partitions(HuntTarget target) {
  std::vector<int> counts;
  for (int count = 2; count <= registered_kernel(target.kernel)->p_max(); ++count) {
    target.num_partitions = count;
    if (hunt_spec(target)) counts.push_back(count);
  }
  if (counts.size() <= 3) return counts;
  const int middle = std::min(37, counts.back() / 2);
  const auto next = std::min_element(counts.begin() + 1, counts.end() - 1,
                                     [middle](int a, int b) { return std::abs(a - middle) < std::abs(b - middle); });
  return {counts.front(), *next, counts.back()};
}

}  // namespace

std::string_view name_of(HuntMetric metric) {
  switch (metric) {
    case HuntMetric::ulp:
      return "ulp";
    case HuntMetric::scaled_ulp:
      return "scaled_ulp";
    case HuntMetric::steps:
      return "steps";
    case HuntMetric::bound_use:
      break;
  }
  return "bound_use";
}

std::optional<HuntMetric> parse_hunt_metric(std::string_view name) {
  for (const HuntMetric metric : kMetrics) {
    if (name_of(metric) == name) return metric;
  }
  return std::nullopt;
}

std::span<const LseRegime> hunt_regimes() {
  return kRegimes;
}

std::optional<LseRegime> parse_hunt_regime(std::string_view name) {
  for (const LseRegime regime : kRegimes) {
    if (name_of(regime) == name) return regime;
  }
  return std::nullopt;
}

std::optional<CaseSpec> hunt_spec(const HuntTarget& target) {
  const CombineKernel* const kernel = registered_kernel(target.kernel);
  if (kernel == nullptr) return std::nullopt;
  CaseSpec spec;
  spec.kernel = target.kernel;
  spec.arch = target.arch;
  spec.num_partitions = static_cast<std::uint16_t>(target.num_partitions);
  spec.out = target.out;
  spec.partial = target.partial;
  spec.exponent = target.exponent;
  spec.lse = target.regime;
  if (target.regime == LseRegime::attention) spec.values = ValueRegime::attention;
  std::vector<int> depths(kernel->depths().begin(), kernel->depths().end());
  std::sort(depths.begin(), depths.end());
  for (const int depth : depths) {
    spec.ov_depth = static_cast<std::uint16_t>(depth);
    if (!spec_error(spec) && !kernel->refuse(shape_of(spec))) return spec;
  }
  return std::nullopt;
}

std::string describe_target(const HuntTarget& target) {
  return fmt::format("{} {}<-{} {} {} P={}", name_of(target.kernel), name_of(target.out), name_of(target.partial),
                     name_of(target.exponent), name_of(target.regime), target.num_partitions);
}

std::string shape_token(const HuntTarget& target) {
  return format_token({static_cast<std::uint8_t>(LawId::accuracy), hunt_spec(target).value()});
}

std::vector<HuntTarget> hunt_targets(const HuntScope& scope) {
  std::vector<HuntTarget> targets;
  for (const KernelId kernel : scope.kernels) {
    for (const ExponentForm exponent : registered_kernel(kernel)->exponent_forms()) {
      HuntTarget target{kernel, scope.arch, scope.out, scope.partial, exponent, 2, LseRegime::narrow, scope.metric};
      const std::vector<int> partitions = scope.partitions.empty() ? usual_partitions(target) : scope.partitions;
      for (const LseRegime regime : scope.regimes) {
        for (const int count : partitions) {
          target.regime = regime;
          target.num_partitions = count;
          if (hunt_spec(target)) targets.push_back(target);
        }
      }
    }
  }
  return targets;
}

float hunt_exponent_scale(const CaseSpec& spec) {
  if (spec.exponent != ExponentForm::scaled) return 1;
  return 0x1.715476p+0F / std::sqrt(static_cast<float>(spec.ov_depth));
}

RegimeRange range_of(LseRegime regime) {
  switch (regime) {
    case LseRegime::narrow:
      return {-10, 10, 0, 4};
    case LseRegime::dominant:
      return {-10, 50, 4, 44};
    case LseRegime::ties:
      return {-12.5, 13.5, 0, 8.5};
    default:
      return {-100, 100, 0, 100};
  }
}

double log2_units(const CaseSpec& spec, float exponent_scale, float x) {
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  const double factor = spec.exponent == ExponentForm::natural ? kLog2e : static_cast<double>(exponent_scale);
  return static_cast<double>(x) * factor;
}

bool inside_regime(const CaseSpec& spec, float exponent_scale, std::span<const float> lse) {
  const RegimeRange range = range_of(spec.lse);
  double low = INFINITY, high = -INFINITY;
  for (const float x : lse) {
    if (x == -INFINITY) continue;
    if (!std::isfinite(x)) return false;
    const double units = log2_units(spec, exponent_scale, x);
    low = std::min(low, units);
    high = std::max(high, units);
  }
  const double spread = high - low;
  return low >= range.low && high <= range.high && spread >= range.least_spread && spread <= range.spread;
}

CaseTensors tensors_of(const CaseSpec& spec, std::span<const HuntRow> rows) {
  CaseTensors tensors;
  tensors.spec = spec;
  tensors.spec.rows = static_cast<std::uint32_t>(rows.size());
  tensors.exponent_scale = hunt_exponent_scale(spec);
  tensors.lse_partial.resize(rows.size() * spec.num_partitions);
  tensors.o_partial.resize(tensors.lse_partial.size() * spec.ov_depth);
  if (kernel_of(spec).takes_masses()) tensors.mass_partial.resize(tensors.lse_partial.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      tensors.lse_partial[tensors.lse_index(p, r)] = rows[r].lse[p];
      if (!tensors.mass_partial.empty()) tensors.mass_partial[tensors.lse_index(p, r)] = rows[r].mass[p];
      const auto from = rows[r].o.begin() + static_cast<std::ptrdiff_t>(p * spec.ov_depth);
      std::copy_n(from, spec.ov_depth,
                  tensors.o_partial.begin() + static_cast<std::ptrdiff_t>(tensors.o_index(p, r, 0)));
    }
  }
  return tensors;
}

std::vector<HuntRow> draw_hunt_rows(const CaseSpec& spec, std::uint64_t seed, std::size_t count) {
  // Attention draws rows outside the hunt's limits, too (masked ones): those are passed over. A case in four has none.
  constexpr std::uint64_t kCases = 10'000;
  constexpr std::uint32_t kRowsPerCase = 8;
  const float exponent_scale = hunt_exponent_scale(spec);
  std::vector<HuntRow> rows;
  for (std::uint64_t i = 0; i < kCases && rows.size() < count; ++i) {
    CaseSpec drawn = spec;
    drawn.exponent = ExponentForm::log2;
    drawn.rows = kRowsPerCase;
    drawn.seed = seed + i;
    if (!uses_attention(spec)) drawn.values = kValues[i % kValues.size()];
    if (kernel_of(spec).takes_masses() && !uses_attention(spec)) drawn.mass = kMasses[i / kValues.size() % 2];
    const CaseTensors tensors = expand(drawn);
    for (std::size_t r = 0; r < kRowsPerCase && rows.size() < count; ++r) {
      HuntRow row;
      for (std::size_t p = 0; p < spec.num_partitions; ++p) {
        row.lse.push_back(in_exponent_form(spec, exponent_scale, tensors.lse_partial[tensors.lse_index(p, r)]));
        if (!tensors.mass_partial.empty()) row.mass.push_back(tensors.mass_partial[tensors.lse_index(p, r)]);
        const auto from = tensors.o_partial.begin() + static_cast<std::ptrdiff_t>(tensors.o_index(p, r, 0));
        row.o.insert(row.o.end(), from, from + spec.ov_depth);
      }
      if (inside_regime(spec, exponent_scale, row.lse)) rows.push_back(std::move(row));
    }
  }
  if (rows.size() < count) throw std::logic_error("the generator draws no rows inside the limits of a hunt");
  return rows;
}

}  // namespace lsecheck
