#pragma once

#include <limits>
#include <random>
#include <string>

#include "reports/stored_run.h"

// Made-up results for the tests of this folder: a pure function of the case index, with ties, infinite errors, failures
// and strings that need escaping everywhere.
namespace lsecheck {

inline RunContext sample_context() {
  RunContext context;
  context.version = "0.1.0";
  context.commit = "0123456789ab";
  context.compiler = "GNU 12.2.0";
  context.flags = "-O2 -ffp-contract=off";
  context.sfu_table_digest = "00c0ffee00c0ffee";
  context.profile = "smoke";
  context.backend = "cpu";
  context.arch = "all";
  context.unit = "h200";
  context.schedule = "lockstep";
  context.reference = "certified";
  context.kernel_glob = "*";
  context.law_glob = "*";
  context.seed = 0xfedcba9876543210u;
  context.cases_requested = 100;
  context.hunt_evaluations = 4096;
  return context;
}

inline Failure sample_failure(std::uint64_t case_index) {
  Failure failure;
  failure.case_index = case_index;
  failure.kernel = "fa4_splitk_combine";
  failure.law = "accuracy";
  failure.token = "lse1-shrunk" + std::to_string(case_index);
  failure.found_token = "lse1-found" + std::to_string(case_index);
  failure.case_file = "failures/case" + std::to_string(case_index) + ".safetensors";
  failure.shape = "P=33 rows=1 heads=1 D=64 bf16<-bf16 narrow/normal/none";
  failure.message =
      "row-head 0, depth 3: got 0x3f81, correctly rounded 0x3f80\nexact value 1.0000000000000000000000123\n"
      "1.00 ulp <b>&amp;</b> \"quoted\" | ```fence``` \xc2\xb1";
  return failure;
}

inline RunResults sample_case(std::uint64_t case_index) {
  std::mt19937_64 random(case_index);
  const auto draw = [&](std::uint64_t bound) { return random() % bound; };
  static const char* const kPClasses[] = {"1", "2-16", "17-32", "33-64", "65-160"};
  static const char* const kRegimes[] = {"narrow", "dominant", "extreme_spread", "large_magnitude", "attention"};
  RunResults results;
  StatKey key{"fa4_splitk_combine",
              draw(2) == 0 ? "rung" : "runtime",
              draw(2) == 0 ? "sm_100a" : "sm_103a",
              "h200",
              draw(2) == 0 ? "bf16" : "f32",
              "f32",
              kPClasses[draw(5)],
              kRegimes[draw(5)]};
  StatRow& row = results.stats[key];
  row.cases = 1;
  row.row_heads = 1 + draw(8);
  row.elements = row.row_heads * 64;
  row.correctly_rounded = row.elements - draw(3);
  row.digest = random();
  for (MetricStats* metric : {&row.ulp, &row.scaled_ulp, &row.steps, &row.bound_use}) {
    for (int i = 0; i < 20; ++i) {
      const double value = metric == &row.steps ? static_cast<double>(draw(3)) : static_cast<double>(draw(100)) / 64;
      metric->histogram.add(value);
      if (value <= metric->max.value) continue;
      metric->max = {
          value,  case_index, "lse1-case" + std::to_string(case_index), draw(8), static_cast<std::uint32_t>(i),
          0x3f81, 0x3f80};
    }
  }
  if (draw(40) == 0) row.bound_use.max.value = std::numeric_limits<double>::infinity();
  std::mt19937_64 more(~case_index);
  ChartRow& cell = results.charts[{"spread", key.kernel, key.unit, key.out, static_cast<std::uint32_t>(more() % 9),
                                   static_cast<std::uint32_t>(more() % 12)}];
  cell = {row.row_heads, row.scaled_ulp.max, static_cast<double>(more() % 100) / 16};
  results.charts[{"magnitude", key.kernel, key.unit, key.out, static_cast<std::uint32_t>(more() % 20), 0}] = cell;
  results.totals = {1, row.row_heads, row.elements, 0};
  results.coverage[std::string("lse:") + key.lse_regime] = 1;
  if (draw(20) == 0) results.failures = {sample_failure(case_index)};
  results.totals.failures = results.failures.size();
  if (more() % 25 == 0) {
    const std::string file = "old/case" + std::to_string(case_index) + ".safetensors";
    results.replays[file] = {file, kOldFailure, key.kernel, "accuracy", "holds", file, ""};
  }
  if (more() % 10 == 0) {
    HuntStat& hunt = results.hunts[{key.kernel, key.out, key.partial, "log2", key.arch, key.lse_regime,
                                    static_cast<std::uint32_t>(1 + more() % 3)}];
    hunt = {4096, static_cast<double>(more() % 64) / 64, "kernel=" + std::to_string(case_index)};
  }
  results.laws[{key.kernel, "accuracy"}] = {1, 0, results.totals.failures};
  results.laws[{key.kernel, "single_partition"}] = {draw(2), 1, 0};
  return results;
}

// Cases [begin, end).
inline RunResults sample_batch(std::uint64_t begin, std::uint64_t end) {
  RunResults batch;
  for (std::uint64_t i = begin; i < end; ++i) batch.merge(sample_case(i));
  return batch;
}

inline StoredRun sample_run(std::uint64_t cases) {
  return {sample_context(), sample_batch(0, cases), cases, true};
}

}  // namespace lsecheck
