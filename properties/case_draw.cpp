#include "properties/case_draw.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/dispatch/mla_dispatch.h"
#include "properties/case_decks.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/philox.h"

namespace lsecheck {
namespace {

using namespace decks;

// One kernel's sequence of cases.
struct Sequence {
  std::uint64_t seed;
  KernelId kernel;

  std::uint32_t purpose(Deck deck) const {
    return static_cast<std::uint32_t>(deck) +
           static_cast<std::uint32_t>(kernel) * static_cast<std::uint32_t>(Deck::last);
  }
};

// Which card case `index` gets from a deck of `cards`.
std::size_t deal(const Sequence& sequence, Deck deck, std::uint64_t index, std::size_t cards) {
  PhiloxStream stream(sequence.seed, sequence.purpose(deck), index / cards);
  std::array<std::uint8_t, 32> order;
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  for (std::size_t i = cards - 1; i > 0; --i) std::swap(order[i], order[stream.below(i + 1)]);
  return order[index % cards];
}

template <typename Card, std::size_t cards>
Card deal(const Sequence& sequence, Deck deck, std::uint64_t index, const std::array<Card, cards>& table) {
  static_assert(cards <= 32, "deal() orders at most 32 cards");
  return table[deal(sequence, deck, index, cards)];
}

template <typename T, std::size_t n>
T choose(PhiloxStream& stream, const std::array<T, n>& from) {
  return from[stream.below(n)];
}

RowsHeads draw_rows(PhiloxStream& stream, RowsClass rows) {
  switch (rows) {
    case RowsClass::one:
      break;
    case RowsClass::few:
      return choose(stream, kFew);
    case RowsClass::grid:
      return choose(stream, kGrid);
    case RowsClass::many:
      return choose(stream, kMany);
    case RowsClass::tall:
      return choose(stream, kTall);
  }
  return kOne[0];
}

// The launches that reach the combine at this depth. Production has no automatic split for 160, 192 and 224; their
// combine is driven with the partition counts of depth 128.
SplitRequest draw_request(PhiloxStream& stream, int sm_count, int ov_depth) {
  constexpr std::array<SplitRoute, 3> kShortDepthRoutes{SplitRoute::one_query, SplitRoute::ws_32_rows,
                                                        SplitRoute::ws_64_rows};
  SplitRequest request;
  request.sm_count = sm_count;
  request.depth = ov_depth > 128 && ov_depth < 256 ? 128 : ov_depth;
  const SplitRoute short_depth_route = choose(stream, kShortDepthRoutes);
  if (ov_depth >= 256) {
    request.route = SplitRoute::shared_key;
  } else if (request.depth == 64 || request.depth == 128) {
    request.route = short_depth_route;
  }
  return request;
}

int draw_production_partitions(PhiloxStream& stream, int sm_count, int ov_depth, bool large) {
  // Most draws fit the class at once; the bound is for the rare launch sizes that never would.
  for (int attempt = 0; attempt < 64; ++attempt) {
    SplitRequest request = draw_request(stream, sm_count, ov_depth);
    const std::int64_t small_grid = stream.between(1, 26);
    const std::int64_t grid_of_three = stream.between(1, 3);
    const std::int64_t any_grid = stream.between(1, std::int64_t{1} << stream.below(10));
    const bool spread_thin = stream.chance(1, 2);
    request.raw_grid = !large ? any_grid : spread_thin ? small_grid : grid_of_three;
    const std::int64_t keys = keys_per_partition(request.route, request.depth);
    const std::int64_t few = stream.between(0, 40);
    const std::int64_t many = stream.between(33, 300);
    request.visible_keys = (large || spread_thin ? many : few) * keys + stream.between(0, keys - 1);
    const SplitChoice choice = choose_workspace_partitions(request);
    if (choice.launches_workspace_combine() && (choice.num_partitions > 32) == large) return choice.num_partitions;
  }
  return large ? ws_p_ceiling(sm_count, 4) : 2;
}

// Each edge card rotates through its list: the k-th block of shapes deals the k-th, so all edges come up in turn.
int edge_partitions(std::span<const int> edges, const Sequence& sequence, std::uint64_t uses) {
  const std::size_t n = edges.size();
  return edges[deal(sequence, Deck::edge, uses, n)];
}

// How often the class of this shape card has been dealt before.
std::uint64_t uses_of_class(std::uint64_t case_index, std::size_t shape_card) {
  const PClass p_class = kShapes[shape_card].p;
  // How many cards of this class stand before this one in the table, and how many there are: the running count of uses.
  std::uint64_t before = 0, in_table = 0;
  for (std::size_t card = 0; card < kShapes.size(); ++card) {
    if (kShapes[card].p != p_class) continue;
    ++in_table;
    if (card < shape_card) ++before;
  }
  return case_index / kShapes.size() * in_table + before;
}

int draw_partitions(const Sequence& sequence, std::uint64_t case_index, std::size_t shape_card, const CaseSpec& spec,
                    PhiloxStream& stream) {
  const PClass p_class = kShapes[shape_card].p;
  const std::uint64_t uses = uses_of_class(case_index, shape_card);
  switch (p_class) {
    case PClass::edge_small:
      return edge_partitions(kSmallEdges, sequence, uses);
    case PClass::edge_large:
      return edge_partitions(kLargeEdges, sequence, uses);
    case PClass::production_small:
    case PClass::production_large:
      break;
  }
  return draw_production_partitions(stream, sm_count_of(spec.arch), spec.ov_depth, p_class == PClass::production_large);
}

// The split counts above or up to 32 that the spec's kernel is compiled for on its chip.
std::vector<int> mla_split_counts(const CaseSpec& spec, bool large) {
  std::vector<int> counts;
  for (const int splits : launchable_counts(spec)) {
    if ((splits > 32) == large) counts.push_back(splits);
  }
  return counts;
}

// What dispatch would launch for some batch and cache, as wanted and as its bucket; nullopt where that is another
// class.
struct MlaDraw {
  int wanted;
  int bucket;
};
std::optional<MlaDraw> draw_mla_production(PhiloxStream& stream, const CaseSpec& spec, bool large) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    MlaSplitRequest request;
    request.sm_count = sm_count_of(spec.arch);
    request.batch = stream.between(1, std::int64_t{1} << stream.below(7));
    request.q_len = stream.between(1, 4);
    request.heads = std::int64_t{1} << stream.between(3, 6);
    request.cache_len = stream.between(1, std::int64_t{1} << stream.between(9, 17));
    const int bucket = choose_mla_partitions(request);
    // The count before the bucketing is lost; any that leads to this bucket stands for it.
    const auto counts = mla_split_buckets(request.sm_count);
    const auto at = std::find(counts.begin(), counts.end(), bucket);
    const int below = at == counts.begin() ? 0 : *(at - 1);
    const auto wanted = static_cast<int>(stream.between(below + 1, bucket));
    CombineShape shape = shape_of(spec);
    shape.num_partitions = bucket;
    if (!kernel_of(spec).refuse(shape) && (bucket > 32) == large && wanted >= 2) return MlaDraw{wanted, bucket};
  }
  return std::nullopt;
}

// Sets num_partitions and selection. Edge cards rotate through every bucket; over_bucketed ones keep the count that was
// wanted.
void draw_mla_partitions(const Sequence& sequence, std::uint64_t case_index, std::size_t shape_card,
                         PhiloxStream& stream, CaseSpec& spec) {
  const PClass p_class = kShapes[shape_card].p;
  const bool large = p_class == PClass::edge_large || p_class == PClass::production_large;
  const std::vector<int> counts = mla_split_counts(spec, large);
  const int rotated = edge_partitions(counts, sequence, uses_of_class(case_index, shape_card));
  const auto production = draw_mla_production(stream, spec, large);
  const bool edge = p_class == PClass::edge_small || p_class == PClass::edge_large;
  const MlaDraw drawn = edge || !production ? MlaDraw{rotated, rotated} : *production;
  const int below = static_cast<int>(stream.between(2, std::max(2, drawn.bucket - 1)));
  spec.num_partitions = static_cast<std::uint16_t>(drawn.bucket);
  if (spec.selection != Selection::over_bucketed) return;
  for (const int wanted : {drawn.wanted, drawn.bucket - 1, below}) {
    spec.num_partitions = static_cast<std::uint16_t>(wanted);
    if (over_bucketed_rung(spec) && (wanted > 32) == large) return;
  }
  spec.num_partitions = static_cast<std::uint16_t>(drawn.bucket);
  spec.selection = Selection::production;
}

void bound_work(CaseSpec& spec) {
  const std::uint64_t row_limit =
      std::max<std::uint64_t>(1, kMaxTerms / (std::uint64_t{spec.num_partitions} * spec.ov_depth));
  if (spec.heads > row_limit) spec.heads = static_cast<std::uint16_t>(row_limit);
  spec.rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.rows, row_limit / spec.heads));
}

// What every kernel draws alike.
CaseSpec draw_common(const Sequence& sequence, std::uint64_t index, const DrawLimits& limits, PhiloxStream& stream) {
  const auto card = [&](Deck deck, const auto& table) { return deal(sequence, deck, index, table); };
  CaseSpec spec;
  spec.kernel = sequence.kernel;
  spec.seed = stream.next_u64();
  const std::uint64_t unit_seed = stream.next_u64();
  spec.unit = {limits.unit, limits.unit == sfu::UnitKind::spec ? unit_seed : 0};
  spec.schedule = limits.schedule;
  spec.arch = limits.arch ? *limits.arch : card(Deck::arch, kArchs);

  spec.lse = card(Deck::lse, kLse);
  spec.values = spec.lse == LseRegime::attention ? ValueRegime::attention : card(Deck::values, kValues);
  spec.empties = card(Deck::empties, kEmpties);
  spec.garbage = card(Deck::garbage, kGarbage);
  return spec;
}

CaseSpec draw_fa4(const Sequence& sequence, std::uint64_t index, const DrawLimits& limits) {
  const auto card = [&](Deck deck, const auto& table) { return deal(sequence, deck, index, table); };
  PhiloxStream stream(sequence.seed, sequence.purpose(Deck::pick), index);
  CaseSpec spec = draw_common(sequence, index, limits, stream);
  const TypePair types = card(Deck::types, kTypes);
  spec.out = types.out;
  spec.partial = types.partial;
  spec.ov_depth = card(Deck::depth, kDepths);

  const std::size_t shape_card = deal(sequence, Deck::shape, index, kShapes.size());
  const RowsHeads rows_heads = draw_rows(stream, kShapes[shape_card].rows);
  spec.rows = rows_heads.rows;
  spec.heads = rows_heads.heads;
  const int drawn = draw_partitions(sequence, index, shape_card, spec, stream);
  const bool at_slot_edge = stream.chance(3, 4);
  const int policy_edge = choose(stream, kPolicyPartitions);
  spec.num_partitions = static_cast<std::uint16_t>(spec.lse == LseRegime::policy && at_slot_edge ? policy_edge : drawn);
  bound_work(spec);

  spec.selection = card(Deck::selection, kSelections);
  if (spec.selection == Selection::over_bucketed && !over_bucketed_rung(spec)) spec.selection = Selection::production;
  return spec;
}

CaseSpec draw_mla(const Sequence& sequence, std::uint64_t index, const DrawLimits& limits) {
  const auto card = [&](Deck deck, const auto& table) { return deal(sequence, deck, index, table); };
  PhiloxStream stream(sequence.seed, sequence.purpose(Deck::pick), index);
  CaseSpec spec = draw_common(sequence, index, limits, stream);
  spec.sink = card(Deck::sink, kSinks);
  spec.selection = card(Deck::selection, kMlaSelections);
  const MlaFormat format = card(Deck::types, kMlaFormats);
  spec.out = spec.partial = format.type;
  spec.ov_depth = format.head_dim;
  const std::size_t shape_card = deal(sequence, Deck::shape, index, kShapes.size());
  const RowsHeads rows_heads = draw_rows(stream, kShapes[shape_card].rows);
  spec.rows = rows_heads.rows;
  spec.heads = rows_heads.heads;
  draw_mla_partitions(sequence, index, shape_card, stream, spec);
  bound_work(spec);
  return spec;
}

// Those of `pairs` that the kernel takes, its depths and the shapes in turn.
void draw_format(const Sequence& sequence, std::uint64_t index, std::span<const TypePair> pairs, PhiloxStream& stream,
                 CaseSpec& spec) {
  const CombineKernel& kernel = *registered_kernel(sequence.kernel);
  std::vector<TypePair> types;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(types),
               [&](const TypePair& pair) { return kernel.supports_types(pair.out, pair.partial); });
  const TypePair pair = types[deal(sequence, Deck::types, index, types.size())];
  spec.out = pair.out;
  spec.partial = pair.partial;
  const auto depths = kernel.depths();
  spec.ov_depth = static_cast<std::uint16_t>(depths[deal(sequence, Deck::depth, index, depths.size())]);
  const RowsHeads rows_heads = draw_rows(stream, kShapes[deal(sequence, Deck::shape, index, kShapes.size())].rows);
  spec.rows = rows_heads.rows;
  spec.heads = rows_heads.heads;
}

// Partition counts rotate through all that the kernel can be launched with, at most 32.
CaseSpec draw_with_masses(const Sequence& sequence, std::uint64_t index, const DrawLimits& limits) {
  const auto card = [&](Deck deck, const auto& table) { return deal(sequence, deck, index, table); };
  const CombineKernel& kernel = *registered_kernel(sequence.kernel);
  PhiloxStream stream(sequence.seed, sequence.purpose(Deck::pick), index);
  CaseSpec spec = draw_common(sequence, index, limits, stream);
  if (!kernel.drops_garbage()) spec.garbage = card(Deck::garbage, kFiniteGarbage);
  if (!uses_attention(spec)) spec.mass = card(Deck::mass, kMasses);
  const auto forms = kernel.exponent_forms();
  spec.exponent = forms[deal(sequence, Deck::exponent, index, forms.size())];
  draw_format(sequence, index, kTypePairs, stream, spec);
  spec.num_partitions = static_cast<std::uint16_t>(edge_partitions(launchable_counts(spec), sequence, index));
  bound_work(spec);
  const bool alternative = stream.chance(1, 4);
  if (alternative && kernel.variants(shape_of(spec)).size() > 1) spec.selection = Selection::alternative;
  return spec;
}

// Edges of slots, ladders and chips within the plugin's range, and its own two ends.
std::vector<int> plugin_edges(int smallest, int largest) {
  std::vector<int> edges{smallest, largest};
  for (const std::span<const int> some : {std::span<const int>(kSmallEdges), std::span<const int>(kLargeEdges)}) {
    std::copy_if(some.begin(), some.end(), std::back_inserter(edges),
                 [&](int edge) { return smallest < edge && edge < largest; });
  }
  return edges;
}

// No chip, no variants; every type pair and depth in turn; half of the partition counts are edges.
CaseSpec draw_plugin(const Sequence& sequence, std::uint64_t index) {
  const auto card = [&](Deck deck, const auto& table) { return deal(sequence, deck, index, table); };
  const CombineKernel& kernel = *registered_kernel(sequence.kernel);
  PhiloxStream stream(sequence.seed, sequence.purpose(Deck::pick), index);
  CaseSpec spec;
  spec.kernel = sequence.kernel;
  spec.seed = stream.next_u64();
  spec.lse = kLse[deal(sequence, Deck::lse, index, kLse.size() - 1)];
  spec.values = spec.lse == LseRegime::attention ? ValueRegime::attention
                                                 : kValues[deal(sequence, Deck::values, index, kValues.size() - 1)];
  spec.empties = card(Deck::empties, kEmpties);
  spec.garbage = kernel.drops_garbage() ? card(Deck::garbage, kGarbage) : card(Deck::garbage, kPluginFiniteGarbage);
  spec.exponent = kernel.exponent_forms().front();
  draw_format(sequence, index, kAllTypePairs, stream, spec);
  spec.num_partitions = 1;
  const int smallest = kernel.launchable_partitions(shape_of(spec)).value();
  const int edge = edge_partitions(plugin_edges(smallest, kernel.p_max()), sequence, index);
  const auto any = static_cast<int>(stream.between(smallest, kernel.p_max()));
  spec.num_partitions = static_cast<std::uint16_t>(stream.chance(1, 2) ? edge : any);
  bound_work(spec);
  return spec;
}

// The kernels of one round in the order of kKernelTurns.
std::vector<KernelId> round_of(const DrawLimits& limits) {
  std::vector<KernelId> round;
  const auto& only = limits.kernels;
  std::copy_if(kKernelTurns.begin(), kKernelTurns.end(), std::back_inserter(round), [&](KernelId kernel) {
    return registered_kernel(kernel) != nullptr &&
           (only.empty() || std::find(only.begin(), only.end(), kernel) != only.end());
  });
  return round;
}

// Whose turn case_index is, and how many turns that kernel had before. The order within each round is shuffled.
struct Turn {
  KernelId kernel;
  std::uint64_t index;
};
Turn turn_of(std::uint64_t seed, std::uint64_t case_index, const DrawLimits& limits) {
  std::vector<KernelId> round = round_of(limits);
  const std::size_t n = round.size();
  const std::uint64_t number = case_index / n;
  PhiloxStream stream(seed, static_cast<std::uint32_t>(Deck::kernel), number);
  for (std::size_t i = n - 1; i > 0; --i) std::swap(round[i], round[stream.below(i + 1)]);
  const std::size_t place = case_index % n;
  const auto count = [&](std::size_t end) {
    return static_cast<std::uint64_t>(
        std::count(round.begin(), round.begin() + static_cast<std::ptrdiff_t>(end), round[place]));
  };
  return {round[place], number * count(n) + count(place)};
}

}  // namespace

std::vector<KernelId> kernels_matching(const std::string& glob, Backend backend) {
  std::vector<KernelId> kernels;
  for (int i = 0; i < kKernelCount; ++i) {
    const auto kernel = static_cast<KernelId>(i);
    const CombineKernel* const registered = registered_kernel(kernel);
    if (registered == nullptr || (backend == Backend::cuda && !registered->has_cuda_build())) continue;
    if (fnmatch(glob.c_str(), std::string(name_of(kernel)).c_str(), 0) == 0) kernels.push_back(kernel);
  }
  return kernels;
}

CaseSpec draw_spec(std::uint64_t seed, std::uint64_t case_index, const DrawLimits& limits) {
  const Turn turn = turn_of(seed, case_index, limits);
  const Sequence sequence{seed, turn.kernel};
  if (turn.kernel == KernelId::plugin) return draw_plugin(sequence, turn.index);
  if (registered_kernel(turn.kernel)->takes_masses()) return draw_with_masses(sequence, turn.index, limits);
  if (registered_kernel(turn.kernel)->has_rungs()) return draw_fa4(sequence, turn.index, limits);
  return draw_mla(sequence, turn.index, limits);
}

int percent_of_turns(const DrawLimits& limits, KernelId kernel) {
  const std::vector<KernelId> round = round_of(limits);
  const auto turns = std::count(round.begin(), round.end(), kernel);
  return static_cast<int>(100 * turns / static_cast<std::ptrdiff_t>(round.size()));
}

}  // namespace lsecheck
