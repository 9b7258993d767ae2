#pragma once

#include <atomic>
#include <optional>

#include "fuzz/hunt_evaluation.h"
#include "fuzz/hunt_target.h"
#include "fuzz/worst_case.h"

// One restart of the hunter: a population search of a fixed number of evaluations that depends on nothing but the
// target, the seed and its own number. So islands run in any order on any number of threads.
namespace lsecheck {

inline constexpr std::uint64_t kIslandEvaluations = 4096;

// The worst column of an island.
struct IslandFind {
  double score = -1;
  std::vector<float> lse;
  std::vector<float> mass;
  std::vector<std::uint32_t> o;  // [P]
};

struct IslandResult {
  IslandFind best;
  std::optional<OutsideBound> outside;
};

// What a record keeps of a find with a score.
WorstCase worst_of(const HuntTarget& target, const IslandFind& find);

enum class IslandKind : std::uint8_t { search, random };  // random: as many rows as the generator draws them

// nullopt: stop was set before the island was done.
std::optional<IslandResult> run_island(const HuntTarget& target, IslandKind kind, std::uint64_t seed,
                                       std::uint64_t island, const std::atomic<bool>& stop);

}  // namespace lsecheck
