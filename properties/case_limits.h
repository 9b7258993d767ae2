#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/case_spec.h"

// What a CaseSpec may hold. Whatever comes from outside (tokens, files) passes spec_error before anything is allocated
// for it.
namespace lsecheck {

struct TypePair {
  DType out;
  DType partial;
};
// Partials are stored in the output type, or in f32.
inline constexpr std::array<TypePair, 5> kTypePairs{{{DType::bf16, DType::bf16},
                                                     {DType::f16, DType::f16},
                                                     {DType::f32, DType::f32},
                                                     {DType::bf16, DType::f32},
                                                     {DType::f16, DType::f32}}};

// Elements of o_partial in one case: 2^26 of them take 256 MiB.
inline constexpr std::uint64_t kMaxPartialElements = std::uint64_t{1} << 26;

constexpr bool uses_attention(const CaseSpec& spec) {
  return spec.lse == LseRegime::attention || spec.values == ValueRegime::attention;
}

// The partition counts that the spec's kernel can be launched with on its chip, for its types and depth, ascending.
std::vector<int> launchable_counts(const CaseSpec& spec);

// The partition count that an over_bucketed case runs at: the chip's next rung (FA4) or split bucket (MLA) above P,
// where P itself is none and that kernel is instantiated for the spec's types and depth. nullopt: over_bucketed has no
// meaning for this spec.
std::optional<int> over_bucketed_rung(const CaseSpec& spec);

// One line naming the field that is out of range and its range; nullopt for a spec that expand() accepts.
std::optional<std::string> spec_error(const CaseSpec& spec);

}  // namespace lsecheck
