#include "properties/case_coverage.h"

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sm100/fa4_instantiation_table.h"
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
  if (next_rung(sm_count_of(spec.arch), p) != p) classes.emplace_back("P:off_ladder");
  if (spec.rows_heads() >= 4 && spec.heads >= 2) classes.emplace_back(kManyHeads);
  if (pattern_counts(spec)) {
    classes.push_back(named("empties", spec.empties));
    if (spec.empties != EmptyPattern::none) classes.push_back(named("garbage", spec.garbage));
  }
  return classes;
}

std::vector<RequiredClass> required_classes(const DrawLimits& limits) {
  std::vector<RequiredClass> required{{"P>32", 40},         {std::string(kManyHeads), 30},
                                      {"P:off_ladder", 30}, {"P=1", 1},
                                      {"P:2-16", 10},       {"P:17-32", 10},
                                      {"P:33-64", 10},      {"P:65-160", 10}};
  for (int i = 0; i < kLseRegimeCount; ++i) required.push_back({named("lse", static_cast<LseRegime>(i)), 4});
  for (int i = 0; i < kValueRegimeCount; ++i) required.push_back({named("values", static_cast<ValueRegime>(i)), 4});
  for (int i = 0; i < kEmptyPatternCount; ++i) required.push_back({named("empties", static_cast<EmptyPattern>(i)), 4});
  for (int i = 0; i < kGarbageCount; ++i) required.push_back({named("garbage", static_cast<Garbage>(i)), 8});
  for (const TypePair& types : kTypePairs) required.push_back({types_name(types.out, types.partial), 15});
  for (const int depth : sm100::kFa4Depths) required.push_back({"depth:" + std::to_string(depth), 6});
  for (const Arch arch : kAllArchs) {
    if (!limits.arch) required.push_back({named("arch", arch), 25});
  }
  if (limits.arch) required.push_back({named("arch", *limits.arch), 100});
  required.push_back({named("selection", Selection::production), 30});
  required.push_back({named("selection", Selection::runtime_p), 20});
  required.push_back({named("selection", Selection::over_bucketed), 5});
  return required;
}

}  // namespace lsecheck
