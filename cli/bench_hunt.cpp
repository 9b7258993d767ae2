#include "cli/bench_hunt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "fuzz/hunt.h"
#include "properties/case_draw.h"

namespace lsecheck::cli {
namespace {

constexpr std::uint64_t kSeed = 1;

double largest(const HuntTarget& target, IslandKind kind, std::uint64_t islands) {
  HuntOptions options;
  options.seed = kSeed;
  options.islands = islands;
  options.keep = 1;
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  HuntRecord record;
  record.target = target;
  const std::atomic<bool> never{false};
  const HuntOutcome outcome = hunt(record, kind, options, never, [] {});
  if (outcome.outside) {
    fmt::print("OUTSIDE the bound, `lsecheck hunt` writes the case: {}\n", outcome.outside->message);
  }
  return record.cases.empty() ? 0 : record.cases.front().value;
}

HuntScope all_kernels(HuntMetric metric) {
  HuntScope scope;
  scope.kernels = kernels_matching("*");
  scope.metric = metric;
  scope.regimes.assign(hunt_regimes().begin(), hunt_regimes().end());
  return scope;
}

void print_against_random(std::uint64_t islands) {
  fmt::print("largest scaled_ulp of {} row-heads, f32 <- f32, sfu h200\n\n{:<36}{:<9}{:<11}{:>5}{:>10}{:>10}{:>8}\n",
             islands * kIslandEvaluations, "kernel", "exponent", "regime", "P", "random", "hunted", "ratio");
  for (const HuntTarget& target : hunt_targets(all_kernels(HuntMetric::scaled_ulp))) {
    const double random = largest(target, IslandKind::random, islands);
    const double hunted = largest(target, IslandKind::search, islands);
    fmt::print("{:<36}{:<9}{:<11}{:>5}{:>10.4g}{:>10.4g}{:>8.2f}\n", name_of(target.kernel), name_of(target.exponent),
               name_of(target.regime), target.num_partitions, random, hunted, hunted / random);
    std::fflush(stdout);
  }
}

// The best partition count and exponent form of each kernel and regime, and the least of all.
void print_shares(std::uint64_t islands) {
  struct Share {
    HuntTarget target;
    double value = 0;
    double least = 2;
  };
  std::map<std::pair<KernelId, LseRegime>, Share> shares;
  for (const HuntTarget& target : hunt_targets(all_kernels(HuntMetric::bound_use))) {
    const double value = largest(target, IslandKind::search, islands);
    Share& share = shares[{target.kernel, target.regime}];
    share.least = std::min(share.least, value);
    if (value > share.value) {
      share.target = target;
      share.value = value;
    }
  }
  fmt::print(
      "\nshare of the bound (sfu h200, before the cast) that is reached: at the P and exponent form where it is most,\n"
      "and the least over all that were hunted\n\n{:<36}{:<11}{:>9}{:>5}{:>10}{:>10}\n",
      "kernel", "regime", "exponent", "P", "most", "least");
  for (const auto& [key, share] : shares) {
    fmt::print("{:<36}{:<11}{:>9}{:>5}{:>10.3f}{:>10.3f}\n", name_of(key.first), name_of(key.second),
               name_of(share.target.exponent), share.target.num_partitions, share.value, share.least);
  }
}

}  // namespace

void bench_hunt(std::uint64_t evaluations) {
  const std::uint64_t islands = (evaluations + kIslandEvaluations - 1) / kIslandEvaluations;
  print_against_random(islands);
  print_shares(islands);
}

}  // namespace lsecheck::cli
