#pragma once

#include <array>
#include <compare>
#include <string>
#include <vector>

#include "properties/results.h"

// The stat rows of a run, added up into the lines that people read.
namespace lsecheck {

// A metric over several stat rows, and which of them its maximum came from.
struct MetricSummary {
  MetricStats stats;
  StatKey place;  // of stats.max; meaningless when nothing was seen
};

enum class Metric { ulp, scaled_ulp, steps, bound_use };
inline constexpr std::array<Metric, 4> kAllMetrics{Metric::ulp, Metric::scaled_ulp, Metric::steps, Metric::bound_use};
const char* name_of(Metric metric);

struct AccuracyKey {
  std::string kernel;
  std::string unit;
  std::string variant;
  std::string out;
  std::string partial;
  std::string lse_regime;  // empty: over all regimes

  std::string types() const { return out + "<-" + partial; }
  auto operator<=>(const AccuracyKey&) const = default;
};

struct AccuracyLine {
  AccuracyKey key;
  std::uint64_t cases = 0;
  std::uint64_t row_heads = 0;
  std::uint64_t elements = 0;
  std::uint64_t correctly_rounded = 0;
  std::uint64_t digest = 0;                               // of every output bit
  std::array<MetricSummary, kAllMetrics.size()> metrics;  // indexed by Metric

  const MetricSummary& metric(Metric which) const { return metrics[static_cast<std::size_t>(which)]; }
};

struct AccuracyTable {
  std::vector<AccuracyLine> lines;    // a line for each kernel, unit, variant and type pair
  std::vector<AccuracyLine> regimes;  // the same, split by LSE regime
};

AccuracyTable accuracy_table(const RunResults& results);

// "1,234,567"
std::string format_count(std::uint64_t count);
// Four significant digits, more where those would cross 0.5 or 1; "inf"; "-" when nothing was seen.
std::string format_metric(Metric metric, const Maximum& maximum);
std::string format_value(double value);
// "99.9812": rounded down, so that 100 means all; "-" of nothing.
std::string format_percent(std::uint64_t part, std::uint64_t whole);
// "33-64/narrow", the partition class and the regime of the maximum; "-" when nothing was seen.
std::string format_place(const MetricSummary& metric);
// "0x3f81", as wide as the type named `out`.
std::string format_bits(const std::string& out, std::uint32_t bits);

}  // namespace lsecheck
