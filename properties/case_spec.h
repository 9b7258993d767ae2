#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/arch.h"
#include "kernels/combine_kernel.h"
#include "kernels/sfu/sfu.h"
#include "kernels/simt/schedule.h"
#include "reference/float_format.h"

// A case is a pure function of this small value: expand() in case_expand.h turns it into tensors with integers and
// correctly rounded arithmetic only, so that any machine and any number of threads expand the same bits.
namespace lsecheck {

// Raised whenever the same spec may expand to other bits; tokens of another version are refused.
inline constexpr int kGeneratorVersion = 3;

// Numbers are part of a token. Only kernels that find_kernel() knows by this name can be drawn or run.
enum class KernelId : std::uint8_t {
  fa4_splitk_combine = 0,
  mla_combine = 1,
  mla_combine_split_parallel = 2,
  fa4_ws_intracta_combine = 3,
  fa4_ws_level1_combine = 4,
  fa4_ws_level2_reduce_scatter_write = 5,
  fa4_ws_two_level_combine = 6,
  mha_splitk_reduce = 7,
  plugin = 8  // whichever was loaded (properties/plugin/); a token does not say which
};
inline constexpr int kKernelCount = 8;  // of this program: those before plugin

// Which instantiation runs: the one production dispatch picks (rung kernel on the ladder, runtime P off it), the
// runtime-P kernel whatever P is, the next rung (FA4) or split bucket (MLA) above P with trailing empty partitions, or
// one of the other variants of a kernel that has several which must agree (the seed says which).
enum class Selection : std::uint8_t { production = 0, runtime_p = 1, over_bucketed = 2, alternative = 3 };
inline constexpr int kSelectionCount = 4;

// How the finite exponents of a row are drawn: the LSEs, or the maxima of kernels that take masses. In log2 units,
// whatever form the kernel then reads them in.
enum class LseRegime : std::uint8_t {
  narrow,           // within a few units of each other, small magnitude
  dominant,         // one partition far above the rest
  extreme_spread,   // gaps to and past 150
  large_magnitude,  // abs(LSE) 1e2 .. 1e6 and past 2^24, narrow spread
  masked_sentinel,  // rows or partitions at -1e4 or -2^100
  ties,             // exactly equal LSEs; small integers
  flushed_weights,  // gaps that put weights at and below 2^-126
  attention,        // from a real split attention (values too)
  policy            // NaN or +inf among the LSEs; only the special-value contract is checked
};
inline constexpr int kLseRegimeCount = 9;

enum class ValueRegime : std::uint8_t { normal, cancelling, constant, one_hot, huge, subnormal, nonfinite, attention };
inline constexpr int kValueRegimeCount = 8;

// Which partitions of a row are empty (lse = -inf). Front-loaded windows make `trailing` the production pattern.
enum class EmptyPattern : std::uint8_t { none, all, one_left, leading, trailing, random, mixed_rows };
inline constexpr int kEmptyPatternCount = 7;

// What lies under an empty partition's O.
enum class Garbage : std::uint8_t { zero, nan, inf, stale_bits };
inline constexpr int kGarbageCount = 4;

// The attention sink of every head: none, a finite natural logarithm, or -inf (its operations run, its mass is 0).
enum class SinkKind : std::uint8_t { none, finite, minus_infinity };
inline constexpr int kSinkKindCount = 3;

// How the masses l_p of non-empty partitions are drawn, for kernels that take them. The attention regime has its own.
enum class MassRegime : std::uint8_t {
  unit,      // every mass 1
  near_one,  // 1 .. 3, bell-shaped from 1 upward
  counts,    // a number of keys, 1 .. 4096, times up to 2^8 for a maximum that lags behind
  spread,    // 2^-20 .. 2^20
  tiny       // subnormal and the first normal f32: reciprocals overflow or are flushed
};
inline constexpr int kMassRegimeCount = 5;

inline constexpr int kExponentFormCount = 3;

struct CaseSpec {
  KernelId kernel = KernelId::fa4_splitk_combine;
  Arch arch = Arch::sm_100a;
  Selection selection = Selection::production;
  std::uint16_t num_partitions = 2;
  std::uint32_t rows = 1;
  std::uint16_t heads = 1;
  std::uint16_t ov_depth = 128;
  DType out = DType::bf16;
  DType partial = DType::bf16;
  LseRegime lse = LseRegime::narrow;
  ValueRegime values = ValueRegime::normal;
  EmptyPattern empties = EmptyPattern::none;
  Garbage garbage = Garbage::nan;
  SinkKind sink = SinkKind::none;  // kernels that take one
  ExponentForm exponent = ExponentForm::log2;
  MassRegime mass = MassRegime::unit;
  sfu::Unit unit{};
  Schedule schedule = Schedule::lockstep;
  std::uint64_t seed = 0;

  std::uint64_t rows_heads() const { return static_cast<std::uint64_t>(rows) * heads; }
  bool operator==(const CaseSpec& other) const;
};

std::string_view name_of(KernelId kernel);  // "fa4_splitk_combine"
std::string_view name_of(Selection selection);
std::string_view name_of(LseRegime regime);
std::string_view name_of(ValueRegime regime);
std::string_view name_of(EmptyPattern pattern);
std::string_view name_of(Garbage garbage);
std::string_view name_of(SinkKind sink);
std::string_view name_of(ExponentForm form);
std::string_view name_of(MassRegime regime);

}  // namespace lsecheck
