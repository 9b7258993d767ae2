#include "reports/night_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/run_summary.h"

namespace lsecheck {

Night night_of(const StoredRun& run, const std::string& file) {
  Night night{file,
              run.context.seed,
              run.context.commit,
              verdict_word(run),
              verdict_of(run) == Verdict::failed,
              run.results.totals.cases,
              {},
              {},
              {}};
  for (const auto& [key, row] : run.results.laws) {
    if (row.failed > 0) night.failures[{key.kernel, key.law}].count = row.failed;
  }
  for (const Failure& failure : run.results.failures) {
    NightFailure& kept = night.failures[{failure.kernel, failure.law}];
    if (kept.repro.empty()) kept.repro = repro_line(run.context, failure.token);
  }
  for (const Replay* replay : failing_replays(run.results)) {
    night.unmended.push_back({replay_line(*replay), replay_repro_line(run.context, *replay)});
  }
  for (const auto& [key, row] : run.results.stats) {
    if (key.out != "f32") continue;
    double& largest = night.bound_use[key.kernel];
    largest = std::max(largest, row.bound_use.max.value);
  }
  return night;
}

std::string nights_verdict(const std::vector<Night>& nights) {
  if (nights.size() < 2) return "";
  std::string failed;
  std::size_t count = 0;
  for (const Night& night : nights) {
    if (!night.failed) continue;
    ++count;
    failed += fmt::format("{}{}", count == 1 ? ": seed " : ", ", night.seed);
  }
  return fmt::format("{} of {} nights failed{}", count, nights.size(), failed);
}

}  // namespace lsecheck
