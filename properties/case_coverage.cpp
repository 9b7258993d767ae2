#include "properties/case_coverage.h"

#include <algorithm>

#include "kernels/dispatch/fa4_dispatch.h"
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
  if (!is_mla(spec.kernel) && next_rung(sm_count_of(spec.arch), p) != p) classes.emplace_back("P:off_ladder");
  if (spec.rows_heads() >= 4 && spec.heads >= 2) classes.emplace_back(kManyHeads);
  if (pattern_counts(spec)) {
    classes.push_back(named("empties", spec.empties));
    if (spec.empties != EmptyPattern::none) classes.push_back(named("garbage", spec.garbage));
  }
  if (is_mla(spec.kernel)) classes.push_back(named("sink", spec.sink));
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

// What holds over all cases and over those of every kernel. Of an MLA kernel there are half as many cases as of FA4,
// larger and so with fewer rows; above 64 its chip has one to three buckets.
std::vector<RequiredClass> common_classes(const DrawLimits& limits, bool with_fa4) {
  const auto percent = [with_fa4](int fa4, int mla) { return with_fa4 ? fa4 : mla; };
  std::vector<RequiredClass> required{{"P>32", 40},    {std::string(kManyHeads), percent(30, 20)},
                                      {"P:2-16", 10},  {"P:17-32", percent(10, 4)},
                                      {"P:33-64", 10}, {"P:65-160", percent(10, 4)}};
  for (int i = 0; i < kLseRegimeCount; ++i) {
    required.push_back({named("lse", static_cast<LseRegime>(i)), percent(4, 2)});
  }
  for (int i = 0; i < kValueRegimeCount; ++i) {
    required.push_back({named("values", static_cast<ValueRegime>(i)), percent(4, 2)});
  }
  for (int i = 0; i < kEmptyPatternCount; ++i) {
    required.push_back({named("empties", static_cast<EmptyPattern>(i)), percent(4, 2)});
  }
  for (int i = 0; i < kGarbageCount; ++i) {
    required.push_back({named("garbage", static_cast<Garbage>(i)), percent(8, 5)});
  }
  for (const Arch arch : kAllArchs) {
    if (!limits.arch) required.push_back({named("arch", arch), 25});
  }
  if (limits.arch) required.push_back({named("arch", *limits.arch), 100});
  required.push_back({named("selection", Selection::over_bucketed), 5});
  return required;
}

void add_fa4_classes(std::vector<RequiredClass>& required) {
  required.push_back({"P:off_ladder", 30});
  required.push_back({"P=1", 1});
  for (const TypePair& types : kTypePairs) required.push_back({types_name(types.out, types.partial), 15});
  for (const int depth : depths_of(KernelId::fa4_splitk_combine)) {
    required.push_back({"depth:" + std::to_string(depth), 6});
  }
  required.push_back({named("selection", Selection::production), 30});
  required.push_back({named("selection", Selection::runtime_p), 20});
}

void add_mla_classes(std::vector<RequiredClass>& required) {
  for (int i = 0; i < kSinkKindCount; ++i) required.push_back({named("sink", static_cast<SinkKind>(i)), 12});
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) required.push_back({types_name(type, type), 12});
  for (const int depth : depths_of(KernelId::mla_combine)) required.push_back({"depth:" + std::to_string(depth), 12});
  required.push_back({named("selection", Selection::production), 20});
  required.push_back({named("selection", Selection::alternative), 30});
}

}  // namespace

std::vector<RequiredClass> required_classes(const DrawLimits& limits) {
  const std::vector<KernelId> kernels = drawn_kernels(limits);
  const bool any_fa4 = std::find(kernels.begin(), kernels.end(), KernelId::fa4_splitk_combine) != kernels.end();
  std::vector<RequiredClass> all = common_classes(limits, any_fa4);
  for (const KernelId kernel : kernels) {
    const std::string of = named("kernel", kernel);
    const bool alone = kernels.size() == 1;
    all.push_back({of, alone ? 100 : 20});
    std::vector<RequiredClass> own = common_classes(limits, !is_mla(kernel));
    is_mla(kernel) ? add_mla_classes(own) : add_fa4_classes(own);
    for (const RequiredClass& one : own) {
      all.push_back({std::string(name_of(kernel)) + ' ' + one.name, one.min_percent, of});
    }
  }
  return all;
}

}  // namespace lsecheck
