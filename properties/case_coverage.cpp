#include "properties/case_coverage.h"

#include "kernels/dispatch/fa4_dispatch.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

constexpr std::string_view kManyHeads = "rows_heads>=4,heads>=2";

std::string p_class(int p) {
  if (p == 1) return "P=1";
  if (p <= 16) return "P:2-16";
  if (p <= 32) return "P:17-32";
  return p <= 64 ? "P:33-64" : "P:65-160";
}

bool pattern_counts(const CaseSpec& spec) {
  return spec.num_partitions >= 2 || spec.empties == EmptyPattern::none || spec.empties == EmptyPattern::all;
}

template <typename Enum>
std::string named(std::string_view axis, Enum value) {
  return std::string(axis) + ':' + std::string(name_of(value));
}

std::string types_name(DType out, DType partial) {
  return "types:" + std::string(name_of(out)) + "<-" + std::string(name_of(partial));
}

}  // namespace

std::vector<std::string> coverage_classes(const CaseSpec& spec) {
  std::vector<std::string> classes{named("lse", spec.lse), named("values", spec.values), named("arch", spec.arch),
                                   named("selection", spec.selection), types_name(spec.out, spec.partial)};
  const int p = spec.num_partitions;
  classes.push_back("depth:" + std::to_string(spec.ov_depth));
  classes.push_back(p_class(p));
  if (p > 32) classes.emplace_back("P>32");
  const CombineKernel& kernel = kernel_of(spec);
  if (kernel.has_rungs() && next_rung(sm_count_of(spec.arch), p) != p) classes.emplace_back("P:off_ladder");
  if (spec.rows_heads() >= 4 && spec.heads >= 2) classes.emplace_back(kManyHeads);
  if (pattern_counts(spec)) {
    classes.push_back(named("empties", spec.empties));
    if (spec.empties != EmptyPattern::none) classes.push_back(named("garbage", spec.garbage));
  }
  if (kernel.takes_sink()) classes.push_back(named("sink", spec.sink));
  if (kernel.exponent_forms().size() > 1) classes.push_back(named("exponent", spec.exponent));
  if (kernel.takes_masses() && !uses_attention(spec)) classes.push_back(named("mass", spec.mass));
  for (std::size_t i = 0, n = classes.size(); i < n; ++i) {
    classes.push_back(std::string(name_of(spec.kernel)) + ' ' + classes[i]);
  }
  classes.push_back(named("kernel", spec.kernel));
  return classes;
}

namespace {

std::vector<KernelId> drawn_kernels(const DrawLimits& limits) {
  return limits.kernels.empty() ? kernels_matching("*") : limits.kernels;
}

// What every kernel draws alike: a regime has at least `regime` percent, what lies under empties `garbage` percent.
std::vector<RequiredClass> regime_classes(const DrawLimits& limits, int regime, int garbage) {
  std::vector<RequiredClass> required;
  required.reserve(kLseRegimeCount + kValueRegimeCount + kEmptyPatternCount + kGarbageCount + kAllArchs.size());
  for (int i = 0; i < kLseRegimeCount; ++i) {
    required.push_back({named("lse", static_cast<LseRegime>(i)), regime});
  }
  for (int i = 0; i < kValueRegimeCount; ++i) {
    required.push_back({named("values", static_cast<ValueRegime>(i)), regime});
  }
  for (int i = 0; i < kEmptyPatternCount; ++i) {
    required.push_back({named("empties", static_cast<EmptyPattern>(i)), regime});
  }
  for (int i = 0; i < kGarbageCount; ++i) {
    required.push_back({named("garbage", static_cast<Garbage>(i)), garbage});
  }
  for (const Arch arch : kAllArchs) {
    if (!limits.arch) required.push_back({named("arch", arch), 25});
  }
  if (limits.arch) required.push_back({named("arch", *limits.arch), 100});
  return required;
}

// What every plugin is dealt, whatever its shapes; a report need not have it at hand.
std::vector<RequiredClass> plugin_classes() {
  std::vector<RequiredClass> required;
  for (const RequiredClass& one : regime_classes({}, 2, 0)) {
    const bool special =
        one.name == named("lse", LseRegime::policy) || one.name == named("values", ValueRegime::nonfinite);
    const bool of_a_chip = one.name.starts_with("arch:") || one.name.starts_with("garbage:");
    if (!special && !of_a_chip) required.push_back(one);
  }
  return required;
}

// Partition counts of the workspace combines. MLA cases are larger than FA4's and so have fewer rows; above 64 an MLA
// chip has one to three buckets.
void add_workspace_classes(std::vector<RequiredClass>& required, bool fa4) {
  const auto percent = [fa4](int of_fa4, int of_mla) { return fa4 ? of_fa4 : of_mla; };
  required.insert(required.end(), {{"P>32", 40},
                                   {std::string(kManyHeads), percent(30, 20)},
                                   {"P:2-16", 10},
                                   {"P:17-32", percent(10, 4)},
                                   {"P:33-64", 10},
                                   {"P:65-160", percent(10, 4)},
                                   {named("selection", Selection::over_bucketed), 5}});
}

void add_fa4_classes(std::vector<RequiredClass>& required) {
  add_workspace_classes(required, true);
  required.push_back({"P:off_ladder", 30});
  required.push_back({"P=1", 1});
  for (const TypePair& types : kTypePairs) required.push_back({types_name(types.out, types.partial), 15});
  for (const int depth : registered_kernel(KernelId::fa4_splitk_combine)->depths()) {
    required.push_back({"depth:" + std::to_string(depth), 6});
  }
  required.push_back({named("selection", Selection::production), 30});
  required.push_back({named("selection", Selection::runtime_p), 20});
}

void add_mla_classes(std::vector<RequiredClass>& required) {
  add_workspace_classes(required, false);
  for (int i = 0; i < kSinkKindCount; ++i) required.push_back({named("sink", static_cast<SinkKind>(i)), 12});
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) required.push_back({types_name(type, type), 12});
  for (const int depth : registered_kernel(KernelId::mla_combine)->depths())
    required.push_back({"depth:" + std::to_string(depth), 12});
  required.push_back({named("selection", Selection::production), 20});
  required.push_back({named("selection", Selection::alternative), 30});
}

// Everything the kernel can be asked for at half of the share it is drawn with.
void add_mass_classes(std::vector<RequiredClass>& required, const CombineKernel& kernel) {
  const auto half_share = [](std::size_t n) { return static_cast<int>(50 / n); };
  required.push_back({std::string(kManyHeads), 20});
  for (int i = 0; i < kMassRegimeCount; ++i) required.push_back({named("mass", static_cast<MassRegime>(i)), 4});
  const auto forms = kernel.exponent_forms();
  for (const ExponentForm form : forms) {
    if (forms.size() > 1) required.push_back({named("exponent", form), half_share(forms.size())});
  }
  for (const int depth : kernel.depths()) {
    required.push_back({"depth:" + std::to_string(depth), half_share(kernel.depths().size())});
  }
  for (const TypePair& pair : kTypePairs) {
    if (kernel.supports_types(pair.out, pair.partial)) {
      required.push_back({types_name(pair.out, pair.partial), half_share(kTypePairs.size())});
    }
  }
  if (kernel.p_max() > 16) required.insert(required.end(), {{"P:2-16", 20}, {"P:17-32", 20}});
}

std::vector<RequiredClass> kernel_classes(const DrawLimits& limits, const CombineKernel& kernel) {
  std::vector<RequiredClass> required =
      kernel.has_rungs() ? regime_classes(limits, 4, 8) : regime_classes(limits, 2, kernel.drops_garbage() ? 5 : 2);
  if (kernel.takes_masses()) {
    add_mass_classes(required, kernel);
  } else if (kernel.has_rungs()) {
    add_fa4_classes(required);
  } else {
    add_mla_classes(required);
  }
  return required;
}

}  // namespace

std::vector<RequiredClass> required_classes(const DrawLimits& limits) {
  if (limits.kernels == std::vector{KernelId::plugin}) return plugin_classes();
  std::vector<RequiredClass> all = regime_classes(limits, 2, 5);
  for (const KernelId kernel : drawn_kernels(limits)) {
    const std::string of = named("kernel", kernel);
    all.push_back({of, percent_of_turns(limits, kernel) * 4 / 5});
    for (const RequiredClass& one : kernel_classes(limits, *registered_kernel(kernel))) {
      all.push_back({std::string(name_of(kernel)) + ' ' + one.name, one.min_percent, of});
    }
  }
  return all;
}

}  // namespace lsecheck
