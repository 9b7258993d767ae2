#include "properties/tensor_edits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/case_kernel.h"
#include "properties/case_limits.h"

namespace lsecheck {

namespace {

// What lies under an empty partition that a law puts in: NaN, or the largest finite value where NaN would count.
std::uint32_t padding_bits(const CaseSpec& spec) {
  return kernel_of(spec).drops_garbage() ? garbage_nan(spec.partial)
                                         : round_to_nearest_even(spec.partial, max_finite(spec.partial));
}

// Every partition empty; the sink and the scale of `from`.
CaseTensors empty_like(const CaseTensors& from, const CaseSpec& spec) {
  CaseTensors result;
  result.spec = spec;
  result.attention_sink = from.attention_sink;
  result.exponent_scale = from.exponent_scale;
  const std::size_t pairs = spec.num_partitions * spec.rows_heads();
  result.lse_partial.assign(pairs, -std::numeric_limits<float>::infinity());
  if (!from.mass_partial.empty()) result.mass_partial.assign(pairs, 0.0F);
  result.o_partial.assign(pairs * spec.ov_depth, padding_bits(spec));
  return result;
}

void copy_row(const CaseTensors& from, std::size_t p, std::size_t rh, CaseTensors& to, std::size_t to_p,
              std::size_t to_rh) {
  to.lse_partial[to.lse_index(to_p, to_rh)] = from.lse_partial[from.lse_index(p, rh)];
  if (!from.mass_partial.empty()) {
    to.mass_partial[to.lse_index(to_p, to_rh)] = from.mass_partial[from.lse_index(p, rh)];
  }
  const auto source = from.o_partial.begin() + static_cast<std::ptrdiff_t>(from.o_index(p, rh, 0));
  std::copy(source, source + to.spec.ov_depth,
            to.o_partial.begin() + static_cast<std::ptrdiff_t>(to.o_index(to_p, to_rh, 0)));
}

void make_hostile(CaseTensors& tensors, std::size_t p, std::size_t rh) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::size_t pair = tensors.lse_index(p, rh);
  tensors.lse_partial[pair] = kNaN;
  if (!tensors.mass_partial.empty()) tensors.mass_partial[pair] = kNaN;
  std::fill_n(tensors.o_partial.begin() + static_cast<std::ptrdiff_t>(tensors.o_index(p, rh, 0)), tensors.spec.ov_depth,
              garbage_nan(tensors.spec.partial));
}

}  // namespace

std::uint32_t garbage_nan(DType type) {
  switch (type) {
    case DType::bf16:
      return 0xffd5U;
    case DType::f16:
      return 0xfed5U;
    case DType::f32:
      break;
  }
  return 0xffd5aa55U;
}

CaseTensors remap_partitions(const CaseTensors& tensors, std::span<const std::int64_t> sources) {
  CaseSpec spec = tensors.spec;
  spec.num_partitions = static_cast<std::uint16_t>(sources.size());
  CaseTensors result = empty_like(tensors, spec);
  for (std::size_t p = 0; p < sources.size(); ++p) {
    if (sources[p] == kNoSource) continue;
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      copy_row(tensors, static_cast<std::size_t>(sources[p]), rh, result, p, rh);
    }
  }
  return result;
}

CaseTensors remap_rows(const CaseTensors& tensors, std::span<const std::int64_t> sources) {
  CaseSpec spec = tensors.spec;
  const bool has_sink = !tensors.attention_sink.empty();
  spec.rows = has_sink ? 1 : static_cast<std::uint32_t>(sources.size());
  spec.heads = has_sink ? static_cast<std::uint16_t>(sources.size()) : 1;
  CaseTensors result = empty_like(tensors, spec);
  result.attention_sink.clear();
  if (has_sink) {
    for (const std::int64_t source : sources) {
      result.attention_sink.push_back(
          source == kNoSource ? std::numeric_limits<float>::quiet_NaN()
                              : tensors.attention_sink[static_cast<std::size_t>(source) % tensors.spec.heads]);
    }
  }
  for (std::size_t rh = 0; rh < sources.size(); ++rh) {
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      if (sources[rh] == kNoSource) {
        make_hostile(result, p, rh);
      } else {
        copy_row(tensors, p, static_cast<std::size_t>(sources[rh]), result, p, rh);
      }
    }
  }
  return result;
}

CaseTensors with_depth(const CaseTensors& tensors, std::uint16_t depth) {
  CaseSpec spec = tensors.spec;
  spec.ov_depth = depth;
  CaseTensors result = empty_like(tensors, spec);
  for (std::size_t p = 0; p < spec.num_partitions; ++p) {
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) copy_row(tensors, p, rh, result, p, rh);
  }
  return result;
}

std::vector<std::int64_t> all_partitions(const CaseTensors& tensors) {
  std::vector<std::int64_t> sources(tensors.spec.num_partitions);
  std::iota(sources.begin(), sources.end(), 0);
  return sources;
}

bool is_empty(const CaseTensors& tensors, std::size_t pair) {
  if (kernel_of(tensors.spec).empty_by_mass()) return tensors.mass_partial[pair] == 0;
  return tensors.lse_partial[pair] == -std::numeric_limits<float>::infinity();
}

void make_empty(CaseTensors& tensors, std::size_t pair) {
  tensors.lse_partial[pair] = -std::numeric_limits<float>::infinity();
  if (!tensors.mass_partial.empty()) tensors.mass_partial[pair] = 0;
}

CaseTensors without_sink(CaseTensors tensors) {
  tensors.attention_sink.clear();
  tensors.spec.sink = SinkKind::none;
  return tensors;
}

std::optional<CaseTensors> launchable(const CaseTensors& tensors) {
  const auto count = kernel_of(tensors.spec).launchable_partitions(shape_of(tensors.spec));
  if (!count) return std::nullopt;
  if (*count == tensors.spec.num_partitions) return tensors;
  std::vector<std::int64_t> sources = all_partitions(tensors);
  sources.resize(static_cast<std::size_t>(*count), kNoSource);
  return remap_partitions(tensors, sources);
}

CaseSpec bucketed(CaseSpec spec) {
  if (spec.selection != Selection::over_bucketed) return spec;
  if (const auto rung = over_bucketed_rung(spec)) spec.num_partitions = static_cast<std::uint16_t>(*rung);
  spec.selection = Selection::production;
  return spec;
}

CaseTensors bucketed(CaseTensors tensors) {
  const CaseSpec launched = bucketed(tensors.spec);
  tensors.spec.selection = launched.selection;
  if (launched.num_partitions == tensors.spec.num_partitions) return tensors;
  std::vector<std::int64_t> sources = all_partitions(tensors);
  sources.resize(launched.num_partitions, kNoSource);
  return remap_partitions(tensors, sources);
}

}  // namespace lsecheck
