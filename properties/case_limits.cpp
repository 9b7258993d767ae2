#include "properties/case_limits.h"

#include <algorithm>

#include "properties/case_kernel.h"

namespace lsecheck {
namespace {

template <typename Enum>
bool within(Enum value, Enum last) {
  return static_cast<unsigned>(value) <= static_cast<unsigned>(last);
}

// Enumerations can hold any byte when the spec was decoded from outside.
std::optional<std::string> enum_error(const CaseSpec& spec) {
  const auto bad = [](const char* field) { return std::string(field) + " is not one of its named values"; };
  if (!within(spec.kernel, KernelId::plugin)) return bad("kernel");
  if (!within(spec.arch, Arch::sm_103a)) return bad("arch");
  if (!within(spec.selection, Selection::alternative)) return bad("selection");
  if (!within(spec.out, DType::f32)) return bad("out");
  if (!within(spec.partial, DType::f32)) return bad("partial");
  if (!within(spec.lse, LseRegime::policy)) return bad("lse");
  if (!within(spec.values, ValueRegime::attention)) return bad("values");
  if (!within(spec.empties, EmptyPattern::mixed_rows)) return bad("empties");
  if (!within(spec.garbage, Garbage::stale_bits)) return bad("garbage");
  if (!within(spec.sink, SinkKind::minus_infinity)) return bad("sink");
  if (!within(spec.exponent, ExponentForm::scaled)) return bad("exponent");
  if (!within(spec.mass, MassRegime::tiny)) return bad("mass");
  if (!within(spec.unit.kind, sfu::UnitKind::spec)) return bad("unit");
  if (!within(spec.schedule, Schedule::random)) return bad("schedule");
  return std::nullopt;
}

std::optional<std::string> shape_error(const CaseSpec& spec, const CombineKernel& kernel) {
  if (spec.num_partitions < 1 || spec.num_partitions > kernel.p_max()) {
    return "num_partitions " + std::to_string(spec.num_partitions) + " is outside 1.." + std::to_string(kernel.p_max());
  }
  if (spec.rows < 1) return "rows is 0; it must be at least 1";
  if (spec.heads < 1) return "heads is 0; it must be at least 1";
  const auto depths = kernel.depths();
  if (std::find(depths.begin(), depths.end(), int{spec.ov_depth}) == depths.end()) {
    std::string line = "ov_depth " + std::to_string(spec.ov_depth) + " has no kernel; use one of";
    for (const int depth : depths) line += ' ' + std::to_string(depth);
    return line;
  }
  // No overflow: below 2^48 * 2^8 and divided by 2^5 at least.
  const std::uint64_t row_limit = kMaxPartialElements / (std::uint64_t{spec.num_partitions} * spec.ov_depth);
  if (spec.rows_heads() > row_limit) {
    return "rows * heads " + std::to_string(spec.rows_heads()) + " is too large for one case; at most " +
           std::to_string(row_limit) + " at this num_partitions and ov_depth";
  }
  return std::nullopt;
}

std::optional<std::string> types_error(const CaseSpec& spec, const CombineKernel& kernel) {
  if (kernel.supports_types(spec.out, spec.partial)) return std::nullopt;
  std::string fitting;
  for (const DType partial : {DType::bf16, DType::f16, DType::f32}) {
    if (!kernel.supports_types(spec.out, partial)) continue;
    fitting += (fitting.empty() ? "" : " or ") + std::string(name_of(partial));
  }
  if (fitting.empty()) {
    return "out type " + std::string(name_of(spec.out)) + " does not go with kernel " +
           std::string(name_of(spec.kernel)) + "; use f32";
  }
  return "partial type " + std::string(name_of(spec.partial)) + " does not go with out type " +
         std::string(name_of(spec.out)) + "; use " + fitting;
}

// What a kernel reads beside exponents and values.
std::optional<std::string> input_error(const CaseSpec& spec, const CombineKernel& kernel) {
  const auto goes_not = [&](const char* field, std::string_view value, const std::string& why) {
    return std::string(field) + ' ' + std::string(value) + " does not go with kernel " +
           std::string(name_of(spec.kernel)) + ", which " + why;
  };
  if (spec.sink != SinkKind::none && !kernel.takes_sink()) return goes_not("sink", name_of(spec.sink), "takes none");
  if (spec.mass != MassRegime::unit && !kernel.takes_masses()) {
    return goes_not("mass", name_of(spec.mass), "takes none");
  }
  if (spec.kernel == KernelId::plugin) {
    constexpr const char* kNoPolicy = "promises nothing of NaN and Inf under a weight";
    if (spec.lse == LseRegime::policy) return goes_not("lse", name_of(spec.lse), kNoPolicy);
    if (spec.values == ValueRegime::nonfinite) return goes_not("values", name_of(spec.values), kNoPolicy);
  }
  const auto forms = kernel.exponent_forms();
  if (std::find(forms.begin(), forms.end(), spec.exponent) == forms.end()) {
    std::string reads = "reads";
    for (const ExponentForm form : forms) reads += ' ' + std::string(name_of(form));
    return goes_not("exponent", name_of(spec.exponent), reads);
  }
  return std::nullopt;
}

bool launchable_at(const CaseSpec& spec, const CombineKernel& kernel, int num_partitions) {
  CombineShape shape = shape_of(spec);
  shape.num_partitions = num_partitions;
  return !kernel.refuse(shape);
}

std::optional<std::string> selection_error(const CaseSpec& spec, const CombineKernel& kernel) {
  const auto goes_not = [&](const char* why) {
    return "selection " + std::string(name_of(spec.selection)) + " does not go with kernel " +
           std::string(name_of(spec.kernel)) + ": " + why;
  };
  if (spec.selection == Selection::runtime_p && !kernel.has_rungs()) return goes_not("it has no runtime-P variant");
  if (spec.selection == Selection::alternative && kernel.has_rungs()) {
    return goes_not("its variants are production and runtime_p");
  }
  if (spec.selection == Selection::over_bucketed) {
    // A count that can be launched as it is runs as production.
    if (kernel.has_rungs() || over_bucketed_rung(spec)) return std::nullopt;
    return "num_partitions " + std::to_string(spec.num_partitions) + " has no split bucket above it on " +
           std::string(name_of(spec.arch)) + " that " + std::string(name_of(spec.kernel)) +
           " is compiled for; use selection production at a bucket";
  }
  if (!launchable_at(spec, kernel, spec.num_partitions)) {
    std::string line = "num_partitions " + std::to_string(spec.num_partitions) + " has no " +
                       std::string(name_of(spec.kernel)) + " kernel on " + std::string(name_of(spec.arch)) +
                       " for these types and ov_depth; use one of";
    for (const int count : launchable_counts(spec)) line += ' ' + std::to_string(count);
    return line;
  }
  if (spec.selection == Selection::alternative && kernel.variants(shape_of(spec)).size() < 2) {
    return goes_not("it has one variant");
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> launchable_counts(const CaseSpec& spec) {
  const CombineKernel& kernel = kernel_of(spec);
  std::vector<int> counts;
  for (int count = 1; count <= kernel.p_max(); ++count) {
    if (launchable_at(spec, kernel, count)) counts.push_back(count);
  }
  return counts;
}

std::optional<int> over_bucketed_rung(const CaseSpec& spec) {
  return kernel_of(spec).production_bucket(shape_of(spec));
}

std::optional<std::string> spec_error(const CaseSpec& spec) {
  if (auto error = enum_error(spec)) return error;
  const CombineKernel* const kernel = registered_kernel(spec.kernel);
  if (kernel == nullptr && spec.kernel == KernelId::plugin) {
    return "its kernel is a plugin, and none is loaded; `run` and `repro` load one with --plugin FILE";
  }
  if (kernel == nullptr) return "kernel " + std::string(name_of(spec.kernel)) + " is not part of this build";
  if (auto error = shape_error(spec, *kernel)) return error;
  if (auto error = types_error(spec, *kernel)) return error;
  if (auto error = input_error(spec, *kernel)) return error;
  if (auto error = selection_error(spec, *kernel)) return error;
  if (spec.lse == LseRegime::policy && spec.values == ValueRegime::attention) {
    return "values attention determines the LSEs, so it does not go with lse policy";
  }
  if (uses_attention(spec) && spec.mass != MassRegime::unit) {
    return "attention determines the masses, so it does not go with mass " + std::string(name_of(spec.mass));
  }
  return std::nullopt;
}

}  // namespace lsecheck
