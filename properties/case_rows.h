#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "properties/case_spec.h"
#include "properties/draw_purpose.h"
#include "properties/philox.h"

// The pieces expand() is made of. A row-head rh = row * heads + head draws from streams of its own, keyed by
// (spec.seed, purpose, rh): it is the same row whatever the other rows are.
namespace lsecheck {

inline PhiloxStream stream_for(const CaseSpec& spec, DrawPurpose purpose, std::uint64_t index) {
  return PhiloxStream(spec.seed, static_cast<std::uint32_t>(purpose), index);
}

// A partition, half the time one beside a 32-lane slot boundary or the last.
std::size_t draw_partition(PhiloxStream& stream, std::size_t num_partitions);

// [P] booleans: the empty partitions of one row-head.
std::vector<std::uint8_t> draw_empties(const CaseSpec& spec, std::uint64_t rh);

// [P] finite exponents (log2 units). Not for LseRegime::attention; LseRegime::policy starts from narrow.
std::vector<float> draw_lse_row(const CaseSpec& spec, std::uint64_t rh);

// The finite sink (natural log) of one head, often near the mass of the row-head `rh` of that head, whose LSEs are
// given.
float draw_sink(const CaseSpec& spec, std::uint64_t rh, std::span<const float> lse);

// Puts NaN, +inf and -inf into one row's LSEs.
void overlay_policy(const CaseSpec& spec, std::uint64_t rh, std::span<float> lse);

// [P] masses, finite and above 0. Not for LseRegime::attention, which has its own.
std::vector<float> draw_mass_row(const CaseSpec& spec, std::uint64_t rh);

// Puts a NaN into the masses of some rows.
void overlay_mass_policy(const CaseSpec& spec, std::uint64_t rh, std::span<float> mass);

// What ExponentForm::scaled multiplies by, drawn for the whole case: positive, finite, normal.
float draw_exponent_scale(const CaseSpec& spec);

// A finite exponent in log2 units in the spec's form, correctly rounded, finite. Others stay as they are.
float in_exponent_form(const CaseSpec& spec, float exponent_scale, float log2_units);

// [P, ov_depth] values for every partition, in f32, not yet rounded to the partial type; finite ones stay finite under
// that rounding. lse: the row's final LSEs (log2 units); what is drawn for empty partitions is replaced later. mass:
// the row's masses where the values are divided by them, else empty. Not for ValueRegime::attention.
std::vector<float> draw_value_row(const CaseSpec& spec, std::uint64_t rh, std::span<const float> lse,
                                  std::span<const float> mass);

// The whole case at once (heads share keys and values): lse [P, rows, heads] in log2 units, -inf where a partition has
// no tiles; o [P, rows, heads, ov_depth] not yet rounded to the partial type, 0 where empty. For kernels that take
// masses lse is the maximum alone and mass, 0 where empty, stands beside it; o is divided by the mass where the kernel
// expects that.
struct AttentionPartials {
  std::vector<float> lse;
  std::vector<float> mass;
  std::vector<float> o;
};
AttentionPartials compute_attention(const CaseSpec& spec);

}  // namespace lsecheck
