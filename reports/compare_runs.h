#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/results.h"
#include "reports/baseline.h"
#include "reports/stored_run.h"

// Holds a run against an older one, line by line. Nothing is tolerated: the metrics are decided numbers on a grid, so
// on the same cases any difference is the kernel's. So it is in hunts of the same targets with the same seed and
// evaluations.
namespace lsecheck {

// better, worse: a largest bound_use or scaled_ulp, or the failures of a law, went down or up; up wins. appeared, gone:
// the line is in one of the two runs only.
enum class LineVerdict : std::uint8_t { better, same, worse, appeared, gone };
const char* name_of(LineVerdict verdict);  // "BETTER", "SAME", "WORSE", "NEW", "GONE"

struct AccuracyComparison {
  AccuracyKey key;
  LineVerdict verdict = LineVerdict::same;
  bool bits_changed = false;  // in both runs, and some count or output bit differs
  BaselineAccuracy old_row, new_row;
};

struct LawComparison {
  LawKey key;
  LineVerdict verdict = LineVerdict::same;
  BaselineLaw old_row, new_row;
};

// A target that both runs hunted: better, same or worse by its largest bound_use.
struct HuntComparison {
  HuntKey key;
  LineVerdict verdict = LineVerdict::same;
  bool find_changed = false;  // the worst case is another one
  HuntStat old_row, new_row;
};

// A night hunts a third of all targets, so those of one run alone are no lines: they are counted.
struct HuntsComparison {
  std::vector<HuntComparison> lines;  // in key order
  std::uint64_t only_old = 0;         // targets
  std::uint64_t only_new = 0;
  std::vector<std::string> other_search;  // how the searches of the two runs differ; empty: they were the same
  RunContext old_context, new_context;    // what a hunt is run again with

  bool changed() const;  // a line is not SAME, or what was found differs
};

struct Comparison {
  std::vector<AccuracyComparison> accuracy;  // in key order
  std::vector<LawComparison> laws;
  std::vector<std::string> other_cases;  // how the cases of the two runs differ; empty: they ran the same ones
  HuntsComparison hunts;                 // none where a baseline was compared

  std::uint64_t count(LineVerdict verdict) const;  // of accuracy, laws and hunts
  bool worse() const;                              // a line is WORSE
  bool changed() const;                            // a line is not SAME, some output bit or what a hunt found differs
};

Comparison compare_runs(const Baseline& old_run, const Baseline& new_run);
// With the hunts.
Comparison compare_runs(const StoredRun& old_run, const StoredRun& new_run);

// For a terminal: the verdicts with the worst cases old and new; lines that are the same are counted only.
std::string comparison_text(const Comparison& comparison);

}  // namespace lsecheck
