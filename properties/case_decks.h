#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/arch.h"
#include "properties/case_limits.h"
#include "properties/case_spec.h"

// What case_draw.cpp deals from: how often each regime, type, depth, chip and shape comes up.
namespace lsecheck::decks {

// The decks. Case i takes one card of each: a deck of n cards is shuffled anew (by seed, deck and i / n) for every n
// consecutive cases, so each such block holds every card once, and decks of different length meet in ever new
// combinations.

enum class Deck : std::uint32_t {
  shape = 1,
  lse,
  values,
  empties,
  garbage,
  types,
  depth,
  arch,
  selection,
  edge,
  pick,
  kernel,
  sink,
  exponent,
  mass,
  last  // decks of one kernel are numbered apart from those of the next
};

enum class PClass : std::uint8_t {
  edge_small,        // 1, 2, 3, 31, 32
  edge_large,        // slot, ladder and chip edges above 32
  production_small,  // what dispatch chooses, up to 32
  production_large   // what dispatch chooses, above 32
};

enum class RowsClass : std::uint8_t {
  one,
  few,   // 2 or 3 row-heads
  grid,  // 4 to 24 row-heads, heads >= 2
  many,  // a hundred or so, heads >= 2 and no round numbers
  tall   // one head, 4 to 8 rows
};

struct Shape {
  PClass p;
  RowsClass rows;
};

inline constexpr std::array<Shape, 20> kShapes{{
    {PClass::edge_large, RowsClass::one},        {PClass::edge_large, RowsClass::one},
    {PClass::edge_large, RowsClass::few},        {PClass::edge_large, RowsClass::grid},
    {PClass::production_large, RowsClass::one},  {PClass::production_large, RowsClass::one},
    {PClass::production_large, RowsClass::few},  {PClass::production_large, RowsClass::grid},
    {PClass::production_large, RowsClass::grid}, {PClass::production_large, RowsClass::tall},
    {PClass::edge_small, RowsClass::one},        {PClass::edge_small, RowsClass::few},
    {PClass::edge_small, RowsClass::grid},       {PClass::edge_small, RowsClass::many},
    {PClass::production_small, RowsClass::few},  {PClass::production_small, RowsClass::grid},
    {PClass::production_small, RowsClass::grid}, {PClass::production_small, RowsClass::grid},
    {PClass::production_small, RowsClass::many}, {PClass::production_small, RowsClass::tall},
}};

inline constexpr std::array<int, 5> kSmallEdges{1, 2, 3, 31, 32};
inline constexpr std::array<int, 13> kLargeEdges{33, 63, 64, 65, 96, 97, 127, 128, 129, 132, 148, 159, 160};
// NaN LSEs meet the slot structure: the same edges, one inside a slot, small ones.
inline constexpr std::array<int, 12> kPolicyPartitions{1, 2, 31, 32, 33, 34, 63, 64, 65, 96, 97, 160};

struct RowsHeads {
  std::uint32_t rows;
  std::uint16_t heads;
};
inline constexpr std::array<RowsHeads, 1> kOne{{{1, 1}}};
inline constexpr std::array<RowsHeads, 4> kFew{{{1, 2}, {2, 1}, {1, 3}, {3, 1}}};
inline constexpr std::array<RowsHeads, 12> kGrid{
    {{2, 2}, {1, 4}, {1, 5}, {3, 2}, {2, 3}, {1, 6}, {1, 8}, {2, 4}, {4, 2}, {5, 3}, {3, 5}, {8, 3}}};
inline constexpr std::array<RowsHeads, 4> kMany{{{13, 5}, {33, 3}, {17, 7}, {65, 2}}};
inline constexpr std::array<RowsHeads, 4> kTall{{{4, 1}, {5, 1}, {6, 1}, {8, 1}}};

inline constexpr std::array<LseRegime, 20> kLse{LseRegime::narrow,
                                                LseRegime::narrow,
                                                LseRegime::narrow,
                                                LseRegime::dominant,
                                                LseRegime::dominant,
                                                LseRegime::extreme_spread,
                                                LseRegime::extreme_spread,
                                                LseRegime::extreme_spread,
                                                LseRegime::large_magnitude,
                                                LseRegime::large_magnitude,
                                                LseRegime::large_magnitude,
                                                LseRegime::masked_sentinel,
                                                LseRegime::masked_sentinel,
                                                LseRegime::ties,
                                                LseRegime::ties,
                                                LseRegime::flushed_weights,
                                                LseRegime::flushed_weights,
                                                LseRegime::attention,
                                                LseRegime::attention,
                                                LseRegime::policy};
// Attention values come with attention LSEs.
inline constexpr std::array<ValueRegime, 16> kValues{
    ValueRegime::normal,   ValueRegime::normal,     ValueRegime::normal,     ValueRegime::normal,
    ValueRegime::normal,   ValueRegime::cancelling, ValueRegime::cancelling, ValueRegime::cancelling,
    ValueRegime::constant, ValueRegime::constant,   ValueRegime::one_hot,    ValueRegime::huge,
    ValueRegime::huge,     ValueRegime::subnormal,  ValueRegime::one_hot,    ValueRegime::nonfinite};
inline constexpr std::array<EmptyPattern, 17> kEmpties{
    EmptyPattern::none,       EmptyPattern::none,       EmptyPattern::none,     EmptyPattern::trailing,
    EmptyPattern::trailing,   EmptyPattern::trailing,   EmptyPattern::trailing, EmptyPattern::mixed_rows,
    EmptyPattern::mixed_rows, EmptyPattern::mixed_rows, EmptyPattern::random,   EmptyPattern::random,
    EmptyPattern::one_left,   EmptyPattern::one_left,   EmptyPattern::leading,  EmptyPattern::leading,
    EmptyPattern::all};
inline constexpr std::array<Garbage, 7> kGarbage{Garbage::nan,  Garbage::nan,        Garbage::nan,       Garbage::inf,
                                                 Garbage::zero, Garbage::stale_bits, Garbage::stale_bits};
inline constexpr std::array<TypePair, 11> kTypes{{{DType::bf16, DType::bf16},
                                                  {DType::bf16, DType::bf16},
                                                  {DType::bf16, DType::bf16},
                                                  {DType::f16, DType::f16},
                                                  {DType::f16, DType::f16},
                                                  {DType::f32, DType::f32},
                                                  {DType::f32, DType::f32},
                                                  {DType::bf16, DType::f32},
                                                  {DType::bf16, DType::f32},
                                                  {DType::f16, DType::f32},
                                                  {DType::f16, DType::f32}}};
inline constexpr std::array<std::uint16_t, 13> kDepths{64, 64, 72, 80, 96, 128, 128, 128, 160, 192, 224, 256, 512};
inline constexpr std::array<Arch, 10> kArchs{Arch::sm_100a, Arch::sm_100a, Arch::sm_100a, Arch::sm_100a, Arch::sm_103a,
                                             Arch::sm_103a, Arch::sm_103a, Arch::sm_90,   Arch::sm_90,   Arch::sm_90};
// Many over_bucketed cards turn into production ones, where P is a rung.
inline constexpr std::array<Selection, 12> kSelections{
    Selection::production,    Selection::production,    Selection::production,    Selection::production,
    Selection::over_bucketed, Selection::over_bucketed, Selection::over_bucketed, Selection::over_bucketed,
    Selection::over_bucketed, Selection::runtime_p,     Selection::runtime_p,     Selection::runtime_p};

// One round of cases, those of kernels that are not registered left out.
inline constexpr std::array<KernelId, 15> kKernelTurns{KernelId::fa4_splitk_combine,
                                                       KernelId::fa4_splitk_combine,
                                                       KernelId::fa4_splitk_combine,
                                                       KernelId::fa4_splitk_combine,
                                                       KernelId::mla_combine,
                                                       KernelId::mla_combine,
                                                       KernelId::mla_combine_split_parallel,
                                                       KernelId::mla_combine_split_parallel,
                                                       KernelId::mha_splitk_reduce,
                                                       KernelId::mha_splitk_reduce,
                                                       KernelId::fa4_ws_intracta_combine,
                                                       KernelId::fa4_ws_level1_combine,
                                                       KernelId::fa4_ws_level2_reduce_scatter_write,
                                                       KernelId::fa4_ws_two_level_combine,
                                                       KernelId::plugin};

// MLA. Production is bf16 at head dimension 512.
struct MlaFormat {
  DType type;
  std::uint16_t head_dim;
};
inline constexpr std::array<MlaFormat, 12> kMlaFormats{{{DType::bf16, 512},
                                                        {DType::bf16, 512},
                                                        {DType::bf16, 512},
                                                        {DType::bf16, 512},
                                                        {DType::bf16, 512},
                                                        {DType::bf16, 512},
                                                        {DType::f16, 512},
                                                        {DType::f16, 512},
                                                        {DType::f32, 512},
                                                        {DType::f32, 512},
                                                        {DType::bf16, 256},
                                                        {DType::f32, 256}}};
inline constexpr std::array<Selection, 8> kMlaSelections{
    Selection::production,  Selection::production,    Selection::alternative,   Selection::alternative,
    Selection::alternative, Selection::over_bucketed, Selection::over_bucketed, Selection::over_bucketed};
inline constexpr std::array<SinkKind, 6> kSinks{SinkKind::none,   SinkKind::none,   SinkKind::finite,
                                                SinkKind::finite, SinkKind::finite, SinkKind::minus_infinity};

// Kernels with masses. Attention has its own.
inline constexpr std::array<MassRegime, 9> kMasses{MassRegime::near_one, MassRegime::near_one, MassRegime::counts,
                                                   MassRegime::counts,   MassRegime::counts,   MassRegime::spread,
                                                   MassRegime::spread,   MassRegime::tiny,     MassRegime::unit};
// Where Inf and NaN under an empty partition make the element NaN, there is less of them.
inline constexpr std::array<Garbage, 7> kFiniteGarbage{
    Garbage::zero, Garbage::zero, Garbage::zero, Garbage::stale_bits, Garbage::stale_bits, Garbage::nan, Garbage::inf};

// Plugins promise nothing of NaN and Inf under a weight: they are dealt all but the last card of these decks. Those
// that drop no garbage promise nothing of it where it is not finite.
static_assert(std::find(kLse.begin(), kLse.end(), LseRegime::policy) == kLse.end() - 1);
static_assert(std::find(kValues.begin(), kValues.end(), ValueRegime::nonfinite) == kValues.end() - 1);
inline constexpr std::array<Garbage, 2> kPluginFiniteGarbage{Garbage::zero, Garbage::stale_bits};

// Which of them a plugin takes it says itself.
inline constexpr std::array<TypePair, 9> kAllTypePairs{{{DType::bf16, DType::bf16},
                                                        {DType::bf16, DType::f16},
                                                        {DType::bf16, DType::f32},
                                                        {DType::f16, DType::bf16},
                                                        {DType::f16, DType::f16},
                                                        {DType::f16, DType::f32},
                                                        {DType::f32, DType::bf16},
                                                        {DType::f32, DType::f16},
                                                        {DType::f32, DType::f32}}};

// rows * heads * P * ov_depth of one case. Whole rows are given up first, then heads; one row-head always fits.
inline constexpr std::uint64_t kMaxTerms = 160'000;

}  // namespace lsecheck::decks
