#include <array>

#include "properties/case_rows.h"

namespace lsecheck {
namespace {

using Mask = std::vector<std::uint8_t>;

Mask draw_pattern(PhiloxStream& stream, EmptyPattern pattern, std::size_t n) {
  Mask empty(n, 0);
  switch (pattern) {
    case EmptyPattern::none:
    case EmptyPattern::mixed_rows:
      break;
    case EmptyPattern::all:
      empty.assign(n, 1);
      break;
    case EmptyPattern::one_left:
      empty.assign(n, 1);
      empty[draw_partition(stream, n)] = 0;
      break;
    case EmptyPattern::leading: {
      const std::size_t count = n > 1 ? 1 + stream.below(n - 1) : 0;
      for (std::size_t p = 0; p < count; ++p) empty[p] = 1;
      break;
    }
    case EmptyPattern::trailing: {
      const std::size_t count = n > 1 ? 1 + stream.below(n - 1) : 0;
      for (std::size_t p = n - count; p < n; ++p) empty[p] = 1;
      break;
    }
    case EmptyPattern::random: {
      // From nearly none to nearly all; one is kept, and with more than one partition one is emptied.
      const std::uint64_t eighths = 1 + stream.below(7);
      for (std::size_t p = 0; p < n; ++p) empty[p] = stream.chance(eighths, 8) ? 1 : 0;
      const std::size_t kept = draw_partition(stream, n);
      empty[kept] = 0;
      if (n > 1) empty[(kept + 1 + stream.below(n - 1)) % n] = 1;
      break;
    }
  }
  return empty;
}

}  // namespace

std::size_t draw_partition(PhiloxStream& stream, std::size_t num_partitions) {
  constexpr std::array<std::size_t, 11> kEdges{0, 1, 31, 32, 33, 63, 64, 65, 96, 127, 128};
  const std::size_t anywhere = stream.below(num_partitions);
  const std::size_t pick = stream.below(2 * (kEdges.size() + 1));
  if (pick == kEdges.size()) return num_partitions - 1;
  if (pick < kEdges.size() && kEdges[pick] < num_partitions) return kEdges[pick];
  return anywhere;
}

std::vector<std::uint8_t> draw_empties(const CaseSpec& spec, std::uint64_t rh) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::empties, rh);
  EmptyPattern pattern = spec.empties;
  if (pattern == EmptyPattern::mixed_rows) {
    constexpr std::array<EmptyPattern, 6> kMixed{EmptyPattern::none,    EmptyPattern::trailing, EmptyPattern::random,
                                                 EmptyPattern::leading, EmptyPattern::one_left, EmptyPattern::all};
    pattern = kMixed[stream.below(kMixed.size())];
  }
  return draw_pattern(stream, pattern, spec.num_partitions);
}

}  // namespace lsecheck
