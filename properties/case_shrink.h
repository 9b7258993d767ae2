#pragma once

#include <vector>

#include "properties/case_spec.h"

namespace lsecheck {

// Every case has a rank per axis, a natural number (case_shrink.cpp): num_partitions, rows, heads, ov_depth and the
// seeds count as they are; regimes, patterns, garbage, exponent form, types, selection, unit and schedule by how much a
// reader has to keep in mind. `a` is simpler than `b` when no rank is greater and one is smaller. Naturals descend
// finitely, so every chain of ever simpler cases ends.
bool simpler(const CaseSpec& a, const CaseSpec& b);

// Simpler variants of a failing case to try, the most drastic first; each passes spec_error(), is simpler() than `spec`
// and has the same kernel and chip. An empty list: nothing is left to simplify.
std::vector<CaseSpec> shrink_candidates(const CaseSpec& spec);

}  // namespace lsecheck
