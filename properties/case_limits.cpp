#include "properties/case_limits.h"

#include <algorithm>

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/dispatch/mla_dispatch.h"
#include "kernels/sm100/fa4_instantiation_table.h"
#include "kernels/sm100/mla_instantiation_table.h"

namespace lsecheck {
namespace {

template <typename Enum>
bool within(Enum value, Enum last) {
  return static_cast<unsigned>(value) <= static_cast<unsigned>(last);
}

// Enumerations can hold any byte when the spec was decoded from outside.
std::optional<std::string> enum_error(const CaseSpec& spec) {
  const auto bad = [](const char* field) { return std::string(field) + " is not one of its named values"; };
  if (!within(spec.kernel, KernelId::mla_combine_split_parallel)) return bad("kernel");
  if (!within(spec.arch, Arch::sm_103a)) return bad("arch");
  if (!within(spec.selection, Selection::alternative)) return bad("selection");
  if (!within(spec.out, DType::f32)) return bad("out");
  if (!within(spec.partial, DType::f32)) return bad("partial");
  if (!within(spec.lse, LseRegime::policy)) return bad("lse");
  if (!within(spec.values, ValueRegime::attention)) return bad("values");
  if (!within(spec.empties, EmptyPattern::mixed_rows)) return bad("empties");
  if (!within(spec.garbage, Garbage::stale_bits)) return bad("garbage");
  if (!within(spec.sink, SinkKind::minus_infinity)) return bad("sink");
  if (!within(spec.unit.kind, sfu::UnitKind::spec)) return bad("unit");
  if (!within(spec.schedule, Schedule::random)) return bad("schedule");
  return std::nullopt;
}

std::optional<std::string> shape_error(const CaseSpec& spec) {
  if (spec.num_partitions < 1 || spec.num_partitions > kPMax) {
    return "num_partitions " + std::to_string(spec.num_partitions) + " is outside 1.." + std::to_string(kPMax);
  }
  if (spec.rows < 1) return "rows is 0; it must be at least 1";
  if (spec.heads < 1) return "heads is 0; it must be at least 1";
  const auto depths = depths_of(spec.kernel);
  if (std::find(depths.begin(), depths.end(), int{spec.ov_depth}) == depths.end()) {
    std::string line = "ov_depth " + std::to_string(spec.ov_depth) + " has no kernel; use one of";
    for (const int depth : depths) line += ' ' + std::to_string(depth);
    return line;
  }
  // No overflow: below 2^48 * 2^8 and divided by 2^6 at least.
  const std::uint64_t row_limit = kMaxPartialElements / (std::uint64_t{spec.num_partitions} * spec.ov_depth);
  if (spec.rows_heads() > row_limit) {
    return "rows * heads " + std::to_string(spec.rows_heads()) + " is too large for one case; at most " +
           std::to_string(row_limit) + " at this num_partitions and ov_depth";
  }
  return std::nullopt;
}

// An MLA kernel is compiled for its split buckets alone; FA4 has a runtime-P kernel and no equal variants besides.
std::optional<std::string> selection_error(const CaseSpec& spec) {
  const auto goes_not = [&](const char* why) {
    return "selection " + std::string(name_of(spec.selection)) + " does not go with kernel " +
           std::string(name_of(spec.kernel)) + ": " + why;
  };
  if (!is_mla(spec.kernel)) {
    if (spec.selection == Selection::alternative) return goes_not("its variants are production and runtime_p");
    return std::nullopt;
  }
  if (spec.selection == Selection::runtime_p) return goes_not("it has no runtime-P variant");
  if (spec.selection == Selection::over_bucketed) {
    if (over_bucketed_rung(spec)) return std::nullopt;
    return "num_partitions " + std::to_string(spec.num_partitions) + " has no split bucket above it on " +
           std::string(name_of(spec.arch)) + " that " + std::string(name_of(spec.kernel)) +
           " is compiled for; use selection production at a bucket";
  }
  if (is_mla_split_count(spec, spec.num_partitions)) return std::nullopt;
  std::string line = "num_partitions " + std::to_string(spec.num_partitions) + " has no " +
                     std::string(name_of(spec.kernel)) + " kernel on " + std::string(name_of(spec.arch)) +
                     " for these types and ov_depth; use one of";
  for (const int splits : sm100::kMlaSplits) {
    if (is_mla_split_count(spec, splits)) line += ' ' + std::to_string(splits);
  }
  return line;
}

}  // namespace

std::span<const int> depths_of(KernelId kernel) {
  if (is_mla(kernel)) return sm100::kMlaHeadDims;
  return sm100::kFa4Depths;
}

bool kernel_supports_types(KernelId kernel, DType out, DType partial) {
  return is_mla(kernel) ? out == partial : sm100::fa4_in_table(out, partial, 128, 0);
}

bool is_mla_split_count(const CaseSpec& spec, int num_partitions) {
  return num_partitions >= 2 && is_mla_bucket(sm_count_of(spec.arch), num_partitions) &&
         sm100::mla_in_table(spec.out, spec.ov_depth, num_partitions);
}

std::optional<int> over_bucketed_rung(const CaseSpec& spec) {
  if (is_mla(spec.kernel)) {
    if (spec.num_partitions < 2) return std::nullopt;
    const int bucket = mla_bucket_num_partitions(sm_count_of(spec.arch), spec.num_partitions);
    if (bucket <= spec.num_partitions || !is_mla_split_count(spec, bucket)) return std::nullopt;
    return bucket;
  }
  const std::optional<int> rung = next_rung(sm_count_of(spec.arch), spec.num_partitions);
  if (!rung || *rung == spec.num_partitions) return std::nullopt;
  if (!sm100::fa4_in_table(spec.out, spec.partial, spec.ov_depth, *rung)) return std::nullopt;
  return rung;
}

std::optional<std::string> spec_error(const CaseSpec& spec) {
  if (const auto error = enum_error(spec)) return error;
  if (const auto error = shape_error(spec)) return error;
  if (!kernel_supports_types(spec.kernel, spec.out, spec.partial)) {
    return "partial type " + std::string(name_of(spec.partial)) + " does not go with out type " +
           std::string(name_of(spec.out)) + "; use the out type" + (is_mla(spec.kernel) ? "" : " or f32");
  }
  if (spec.sink != SinkKind::none && !is_mla(spec.kernel)) {
    return "sink " + std::string(name_of(spec.sink)) + " does not go with kernel " + std::string(name_of(spec.kernel)) +
           ", which takes none";
  }
  if (const auto error = selection_error(spec)) return error;
  if (spec.lse == LseRegime::policy && spec.values == ValueRegime::attention) {
    return "values attention determines the LSEs, so it does not go with lse policy";
  }
  return std::nullopt;
}

}  // namespace lsecheck
