#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/baseline.h"

// Holds a run against an older one, line by line. Nothing is tolerated: the metrics are decided numbers on a grid, so
// on the same cases any difference is the kernel's.
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

struct Comparison {
  std::vector<AccuracyComparison> accuracy;  // in key order
  std::vector<LawComparison> laws;
  std::vector<std::string> other_cases;  // how the cases of the two runs differ; empty: they ran the same ones

  std::uint64_t count(LineVerdict verdict) const;
  bool worse() const;    // a line is WORSE
  bool changed() const;  // a line is not SAME, or some output bit differs
};

Comparison compare_runs(const Baseline& old_run, const Baseline& new_run);

// For a terminal: the verdicts with the worst cases old and new; lines that are the same are counted only.
std::string comparison_text(const Comparison& comparison);

}  // namespace lsecheck
