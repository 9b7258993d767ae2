#include "properties/case_expand.h"

#include <limits>
#include <stdexcept>

#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/case_rows.h"
#include "reference/float_format.h"

namespace lsecheck {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// In attention the windows themselves leave trailing partitions empty; only the other patterns are laid over it.
bool overlays_empties(const CaseSpec& spec) {
  return !uses_attention(spec) || spec.empties == EmptyPattern::one_left || spec.empties == EmptyPattern::leading ||
         spec.empties == EmptyPattern::random;
}

// One bit pattern of the partial type for what nobody wrote.
std::uint32_t garbage_bits(const CaseSpec& spec, PhiloxStream& stream) {
  const FloatFormat format = format_of(spec.partial);
  const std::uint32_t word = stream.next_u32();
  const int fraction_bits = format.precision - 1;
  const std::uint32_t sign = word >> 31 << (format.bits - 1);
  const std::uint32_t fraction = word & ((1u << fraction_bits) - 1);
  const std::uint32_t infinity = ((1u << (format.bits - format.precision)) - 1) << fraction_bits;
  switch (spec.garbage) {
    case Garbage::zero:
      return 0;
    case Garbage::nan:
      return sign | infinity | (fraction == 0 ? 1 : fraction);
    case Garbage::inf:
      return sign | infinity;
    case Garbage::stale_bits:
      break;
  }
  return format.bits == 32 ? word : word >> 16;
}

void fill_garbage(const CaseSpec& spec, std::uint64_t rh, std::size_t p, std::uint32_t* out) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::garbage, partition_index(rh, p));
  for (std::size_t d = 0; d < spec.ov_depth; ++d) out[d] = garbage_bits(spec, stream);
}

void store_rounded(const CaseSpec& spec, const float* values, std::uint32_t* out) {
  for (std::size_t d = 0; d < spec.ov_depth; ++d) {
    out[d] = round_to_nearest_even(spec.partial, static_cast<double>(values[d]));
  }
}

// The exponents of one row in log2 units, -inf where a partition is empty, and what they were before that.
struct ExponentRow {
  std::vector<float> drawn;
  std::vector<float> x;
};

ExponentRow exponents_of(const CaseTensors& tensors, const AttentionPartials& attention, std::uint64_t rh) {
  const CaseSpec& spec = tensors.spec;
  const std::size_t num_partitions = spec.num_partitions;
  ExponentRow row;
  if (uses_attention(spec)) {
    for (std::size_t p = 0; p < num_partitions; ++p) row.drawn.push_back(attention.lse[tensors.lse_index(p, rh)]);
  } else {
    row.drawn = draw_lse_row(spec, rh);
  }
  row.x = row.drawn;
  if (overlays_empties(spec)) {
    const std::vector<std::uint8_t> empty = draw_empties(spec, rh);
    for (std::size_t p = 0; p < num_partitions; ++p) {
      if (empty[p] != 0) row.x[p] = -kInfinity;
    }
  }
  if (spec.lse == LseRegime::policy) overlay_policy(spec, rh, row.x);
  return row;
}

// The masses of one row, 0 where x is -inf; empty for a kernel that takes none.
std::vector<float> masses_of(const CaseTensors& tensors, const AttentionPartials& attention, std::uint64_t rh,
                             std::span<const float> x) {
  if (tensors.mass_partial.empty()) return {};
  const CaseSpec& spec = tensors.spec;
  std::vector<float> mass = uses_attention(spec) ? std::vector<float>(x.size()) : draw_mass_row(spec, rh);
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (uses_attention(spec)) mass[p] = attention.mass[tensors.lse_index(p, rh)];
    if (x[p] == -kInfinity) mass[p] = 0;
  }
  return mass;
}

// What the kernel reads as the exponent of an empty partition: -inf, or where the mass tells, as often what it was.
float empty_exponent(const CaseSpec& spec, const CombineKernel& kernel, std::uint64_t rh, std::size_t p, float drawn) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::stale_exponent, partition_index(rh, p));
  return kernel.empty_by_mass() && stream.chance(1, 2) ? drawn : -kInfinity;
}

void expand_row(CaseTensors& tensors, const AttentionPartials& attention, std::uint64_t rh) {
  const CaseSpec& spec = tensors.spec;
  const CombineKernel& kernel = kernel_of(spec);
  const auto [drawn, x] = exponents_of(tensors, attention, rh);
  std::vector<float> mass = masses_of(tensors, attention, rh, x);

  // Heads draw their sinks beside their first row.
  if (spec.sink == SinkKind::finite && rh < spec.heads) tensors.attention_sink[rh] = draw_sink(spec, rh, x);

  std::vector<float> values;
  if (!uses_attention(spec)) {
    values = draw_value_row(spec, rh, x, kernel.partials_normalised() ? mass : std::vector<float>{});
  }
  if (spec.lse == LseRegime::policy && !mass.empty()) overlay_mass_policy(spec, rh, mass);
  for (std::size_t p = 0; p < x.size(); ++p) {
    const std::size_t pair = tensors.lse_index(p, rh);
    const bool empty = x[p] == -kInfinity;
    const float exponent = empty ? empty_exponent(spec, kernel, rh, p, drawn[p]) : x[p];
    tensors.lse_partial[pair] = in_exponent_form(spec, tensors.exponent_scale, exponent);
    if (!mass.empty()) tensors.mass_partial[pair] = mass[p];
    const std::size_t at = tensors.o_index(p, rh, 0);
    std::uint32_t* out = tensors.o_partial.data() + at;
    if (empty) {
      fill_garbage(spec, rh, p, out);
    } else {
      store_rounded(spec, uses_attention(spec) ? attention.o.data() + at : values.data() + p * spec.ov_depth, out);
    }
  }
}

}  // namespace

CaseTensors expand(const CaseSpec& spec) {
  if (const auto error = spec_error(spec)) throw std::invalid_argument(*error);
  CaseTensors tensors;
  tensors.spec = spec;
  tensors.lse_partial.resize(spec.num_partitions * spec.rows_heads());
  tensors.o_partial.resize(tensors.lse_partial.size() * spec.ov_depth);
  if (kernel_of(spec).takes_masses()) tensors.mass_partial.resize(tensors.lse_partial.size());
  if (spec.exponent == ExponentForm::scaled) tensors.exponent_scale = draw_exponent_scale(spec);
  if (spec.sink != SinkKind::none) tensors.attention_sink.assign(spec.heads, -kInfinity);
  AttentionPartials attention;
  if (uses_attention(spec)) attention = compute_attention(spec);
  for (std::uint64_t rh = 0; rh < spec.rows_heads(); ++rh) expand_row(tensors, attention, rh);
  return tensors;
}

}  // namespace lsecheck
