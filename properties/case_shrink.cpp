#include "properties/case_shrink.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "properties/case_kernel.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

using Rank = std::array<std::uint64_t, 18>;

template <typename Enum, std::size_t n>
std::uint64_t position(const std::array<Enum, n>& simplest_first, Enum value) {
  return static_cast<std::uint64_t>(std::find(simplest_first.begin(), simplest_first.end(), value) -
                                    simplest_first.begin());
}

constexpr std::array<LseRegime, kLseRegimeCount> kLseOrder{LseRegime::ties,
                                                           LseRegime::narrow,
                                                           LseRegime::dominant,
                                                           LseRegime::extreme_spread,
                                                           LseRegime::flushed_weights,
                                                           LseRegime::large_magnitude,
                                                           LseRegime::masked_sentinel,
                                                           LseRegime::policy,
                                                           LseRegime::attention};
constexpr std::array<ValueRegime, kValueRegimeCount> kValueOrder{
    ValueRegime::one_hot,   ValueRegime::constant, ValueRegime::normal,    ValueRegime::cancelling,
    ValueRegime::subnormal, ValueRegime::huge,     ValueRegime::nonfinite, ValueRegime::attention};
constexpr std::array<EmptyPattern, kEmptyPatternCount> kEmptyOrder{
    EmptyPattern::none,     EmptyPattern::trailing, EmptyPattern::leading,   EmptyPattern::all,
    EmptyPattern::one_left, EmptyPattern::random,   EmptyPattern::mixed_rows};
constexpr std::array<Garbage, kGarbageCount> kGarbageOrder{Garbage::zero, Garbage::nan, Garbage::inf,
                                                           Garbage::stale_bits};

constexpr std::array<SinkKind, kSinkKindCount> kSinkOrder{SinkKind::none, SinkKind::minus_infinity, SinkKind::finite};

// 0 for the full-precision type, so that the fewest roundings stand between input and output.
std::uint64_t type_rank(DType type) {
  return type == DType::f32 ? 0 : 1;
}

Rank rank_of(const CaseSpec& spec) {
  return {spec.num_partitions,
          spec.rows,
          spec.heads,
          spec.ov_depth,
          type_rank(spec.out),
          type_rank(spec.partial),
          position(kLseOrder, spec.lse),
          position(kValueOrder, spec.values),
          position(kEmptyOrder, spec.empties),
          position(kGarbageOrder, spec.garbage),
          position(kSinkOrder, spec.sink),
          static_cast<std::uint64_t>(spec.exponent),  // the enumerators stand simplest first
          static_cast<std::uint64_t>(spec.mass),
          static_cast<std::uint64_t>(spec.selection),
          static_cast<std::uint64_t>(spec.schedule),
          static_cast<std::uint64_t>(spec.unit.kind),
          spec.unit.kind == sfu::UnitKind::spec ? spec.unit.seed : 0,
          spec.seed};
}

class Candidates {
 public:
  explicit Candidates(const CaseSpec& from) : from_(from) {}

  // change(spec) edits a copy; copies that are invalid, no simpler, or already listed are dropped.
  template <typename Change>
  void add(Change change) {
    CaseSpec candidate = from_;
    change(candidate);
    // With fewer partitions or other types the rung above may be gone.
    if (candidate.selection == Selection::over_bucketed && !over_bucketed_rung(candidate)) {
      candidate.selection = Selection::production;
    }
    if (spec_error(candidate) || !simpler(candidate, from_)) return;
    if (std::find(list_.begin(), list_.end(), candidate) == list_.end()) list_.push_back(candidate);
  }

  template <typename Field, typename Value>
  void set(Field CaseSpec::*field, std::initializer_list<Value> values) {
    for (const Value value : values) {
      add([&](CaseSpec& spec) { spec.*field = static_cast<Field>(value); });
    }
  }

  template <typename Enum, std::size_t n>
  void set_each(Enum CaseSpec::*field, const std::array<Enum, n>& simplest_first) {
    for (const Enum value : simplest_first) {
      add([&](CaseSpec& spec) { spec.*field = value; });
    }
  }

  std::vector<CaseSpec> take() { return std::move(list_); }

 private:
  const CaseSpec& from_;
  std::vector<CaseSpec> list_;
};

void add_smaller_shapes(Candidates& candidates, const CaseSpec& spec) {
  candidates.set(&CaseSpec::rows, {1u, 2u, spec.rows / 2, spec.rows - 1});
  candidates.set(&CaseSpec::heads, {1, 2, spec.heads / 2, spec.heads - 1});
  // 33 and 32 stand on either side of the second slot per lane, 65 and 64 of the third.
  const int p = spec.num_partitions;
  candidates.set(&CaseSpec::num_partitions, {1, 2, 3, 32, 33, p / 2, 64, 65, p - 1});
  for (const int count : launchable_counts(spec)) {
    if (count < p && !kernel_of(spec).has_rungs()) candidates.set(&CaseSpec::num_partitions, {count});
  }
  for (const int depth : kernel_of(spec).depths()) candidates.set(&CaseSpec::ov_depth, {depth});
}

void add_simpler_contents(Candidates& candidates, const CaseSpec& spec) {
  if (uses_attention(spec)) {
    candidates.add([](CaseSpec& s) {
      s.lse = LseRegime::narrow;
      s.values = ValueRegime::normal;
    });
  }
  candidates.set_each(&CaseSpec::empties, kEmptyOrder);
  candidates.set_each(&CaseSpec::garbage, kGarbageOrder);
  candidates.set_each(&CaseSpec::sink, kSinkOrder);
  candidates.set(&CaseSpec::exponent, {ExponentForm::log2, ExponentForm::natural});
  candidates.set(&CaseSpec::mass, {MassRegime::unit, MassRegime::near_one, MassRegime::counts, MassRegime::spread});
  if (!uses_attention(spec)) {
    candidates.set_each(&CaseSpec::values, kValueOrder);
    candidates.set_each(&CaseSpec::lse, kLseOrder);
  }
  candidates.add([](CaseSpec& s) { s.out = s.partial = DType::f32; });
  candidates.set(&CaseSpec::partial, {DType::f32});
}

void add_simpler_execution(Candidates& candidates, const CaseSpec& spec) {
  candidates.add([](CaseSpec& s) { s.unit = {}; });
  candidates.set(&CaseSpec::schedule, {Schedule::lockstep});
  candidates.set(&CaseSpec::selection, {Selection::production, Selection::runtime_p});
  if (spec.unit.kind == sfu::UnitKind::spec) {
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
      candidates.add([&](CaseSpec& s) { s.unit.seed = seed; });
    }
  }
  candidates.set(&CaseSpec::seed, {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u});
}

}  // namespace

bool simpler(const CaseSpec& a, const CaseSpec& b) {
  const Rank left = rank_of(a), right = rank_of(b);
  return left != right &&
         std::equal(left.begin(), left.end(), right.begin(), [](std::uint64_t x, std::uint64_t y) { return x <= y; });
}

std::vector<CaseSpec> shrink_candidates(const CaseSpec& spec) {
  Candidates candidates(spec);
  add_smaller_shapes(candidates, spec);
  add_simpler_contents(candidates, spec);
  add_simpler_execution(candidates, spec);
  return candidates.take();
}

}  // namespace lsecheck
