#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "properties/case_tensors.h"

// The transformations that laws and the shrinker build new cases with. Each returns a whole new case; the spec's shape
// follows.
namespace lsecheck {

// Marks a place that has no source: an empty partition (lse -inf and mass 0, over NaN bits where the kernel drops
// them), or a hostile row (NaN LSEs, masses and values).
inline constexpr std::int64_t kNoSource = -1;

// Partition i of the result is partition sources[i] of the original in every row.
CaseTensors remap_partitions(const CaseTensors& tensors, std::span<const std::int64_t> sources);
// Row-head i of the result is row-head sources[i]; the result has that many rows of one head, or, with a sink, which
// belongs to a head, one row of that many heads.
CaseTensors remap_rows(const CaseTensors& tensors, std::span<const std::int64_t> sources);
// The first `depth` elements of every row.
CaseTensors with_depth(const CaseTensors& tensors, std::uint16_t depth);

// [0, 1, ..., P - 1].
std::vector<std::int64_t> all_partitions(const CaseTensors& tensors);

// Whether the kernel takes (partition, row-head) pair `pair`, an index into lse_partial, for empty; and the edit that
// makes it so.
bool is_empty(const CaseTensors& tensors, std::size_t pair);
void make_empty(CaseTensors& tensors, std::size_t pair);

// The case without its attention sink.
CaseTensors without_sink(CaseTensors tensors);

// Trailing empty partitions up to the next count that the kernel can be launched with; the same case where that is its
// own. nullopt: there is none.
std::optional<CaseTensors> launchable(const CaseTensors& tensors);

// An over_bucketed case as it is launched: trailing empty partitions up to the next rung, selection production. Others
// unchanged.
CaseTensors bucketed(CaseTensors tensors);
// The spec of what that gives.
CaseSpec bucketed(CaseSpec spec);

// A quiet NaN whose payload no computation produces.
std::uint32_t garbage_nan(DType type);

}  // namespace lsecheck
