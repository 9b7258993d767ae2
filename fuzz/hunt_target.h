#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case_tensors.h"

// What the worst-case hunter maximises, where. One row-head is one evaluation: its exponents and masses decide the
// weights, and because the kernels are elementwise in depth, every column of its values is an attempt of its own.
//
// Values and LSEs stay where an error says something of the kernel: in regimes with abs(LSE) <= 100 and spread <= 100
// (outside them a flushed weight or a huge LSE wins trivially), values 0 or between 2^-12 and 2^12 in size, where no
// operation is subnormal. What the generator itself draws in such a regime is inside by definition.
namespace lsecheck {

enum class HuntMetric : std::uint8_t { ulp, scaled_ulp, steps, bound_use };
std::string_view name_of(HuntMetric metric);
std::optional<HuntMetric> parse_hunt_metric(std::string_view name);

// Regimes that are hunted in.
std::span<const LseRegime> hunt_regimes();
std::optional<LseRegime> parse_hunt_regime(std::string_view name);

// The unit is always the measured one, whose bound is the sharper.
struct HuntTarget {
  KernelId kernel = KernelId::fa4_splitk_combine;
  Arch arch = Arch::sm_100a;
  DType out = DType::f32;
  DType partial = DType::f32;
  ExponentForm exponent = ExponentForm::log2;
  int num_partitions = 2;
  LseRegime regime = LseRegime::narrow;
  HuntMetric metric = HuntMetric::scaled_ulp;

  bool operator==(const HuntTarget&) const = default;
};

// The case of one row that the target stands for, at the smallest depth that its kernel is compiled for. nullopt: the
// kernel cannot be launched like this.
std::optional<CaseSpec> hunt_spec(const HuntTarget& target);

// "fa4_splitk_combine f32<-f32 log2 narrow P=2".
std::string describe_target(const HuntTarget& target);

// Of a case of the target's shape as the generator draws it, held to accuracy.
std::string shape_token(const HuntTarget& target);

// What to hunt in; every kernel, exponent form, partition count and regime is a target of its own.
struct HuntScope {
  std::vector<KernelId> kernels;
  Arch arch = Arch::sm_100a;
  DType out = DType::f32;
  DType partial = DType::f32;
  HuntMetric metric = HuntMetric::scaled_ulp;
  std::vector<LseRegime> regimes;
  std::vector<int> partitions;  // empty: the kernel's smallest from 2, a middle one (37 where there is), its largest
};

// Those of the scope that can be launched, kernel by kernel.
std::vector<HuntTarget> hunt_targets(const HuntScope& scope);

// What ExponentForm::scaled multiplies by in a hunt: production's factor for the depth; 1 for other forms.
float hunt_exponent_scale(const CaseSpec& spec);

// An exponent in the spec's form in log2 units; exponent_scale as above.
double log2_units(const CaseSpec& spec, float exponent_scale, float x);

// Where the exponents of a regime lie, in log2 units: what lse_regimes.cpp draws, and room for the rounding into
// another exponent form; attention's are the limits of every hunt.
struct RegimeRange {
  double low, high, least_spread, spread;
};
RegimeRange range_of(LseRegime regime);

// Whether the exponents (in the spec's form) keep to the regime's range.
bool inside_regime(const CaseSpec& spec, float exponent_scale, std::span<const float> lse);

// One attempt at every column: [P] exponents in the target's form, [P] masses or none, [P, ov_depth] value bits.
struct HuntRow {
  std::vector<float> lse;
  std::vector<float> mass;
  std::vector<std::uint32_t> o;
};

// The rows as one launch of rows.size() rows; spec is hunt_spec().
CaseTensors tensors_of(const CaseSpec& spec, std::span<const HuntRow> rows);

// `count` rows of the regime as the generator of cases draws them, from the cases that `seed` starts; their values are
// of the value regimes that are not about the ends of the number range.
std::vector<HuntRow> draw_hunt_rows(const CaseSpec& spec, std::uint64_t seed, std::size_t count);

}  // namespace lsecheck
