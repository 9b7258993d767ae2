#include "properties/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace lsecheck {
namespace {

// The largest double below the irrational 2^-0.5, so that comparing a double with it decides the exact comparison.
constexpr double kBelowSqrtHalf = 0x1.6a09e667f3bccp-1;

// Bin b's upper edge is 2^((b - kBinOfOne) / 2).
constexpr int kBinOfOne = 32;

// A metric that is not a number is an infinite error: it must never lose against a finite one.
double rank_of(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

// Total, so that merging is commutative even between elements of one case.
auto place_of(const Maximum& m) {
  return std::tie(m.case_index, m.row_head, m.depth_index, m.token, m.got_bits, m.correctly_rounded_bits);
}

template <typename Key, typename Row>
void merge_rows(std::map<Key, Row>& into, const std::map<Key, Row>& from) {
  for (const auto& [key, row] : from) into[key].merge(row);
}

}  // namespace

int ErrorHistogram::bin_of(double value) {
  if (value == 0) return 0;
  if (!std::isfinite(value)) return kBins - 1;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  // ceil(2 * log2 value), decided by exact comparisons.
  int twice_log2 = 2 * exponent;
  if (fraction == 0.5) {
    twice_log2 -= 2;
  } else if (fraction <= kBelowSqrtHalf) {
    twice_log2 -= 1;
  }
  return std::clamp(twice_log2 + kBinOfOne, 1, kBins - 1);
}

double ErrorHistogram::upper_edge(int bin) {
  if (bin <= 0) return 0;
  if (bin >= kBins - 1) return std::numeric_limits<double>::infinity();
  const int twice_log2 = bin - kBinOfOne;
  return twice_log2 % 2 == 0 ? std::ldexp(1.0, twice_log2 / 2) : std::ldexp(kBelowSqrtHalf, (twice_log2 + 1) / 2);
}

void ErrorHistogram::merge(const ErrorHistogram& other) {
  for (std::size_t bin = 0; bin < count.size(); ++bin) count[bin] += other.count[bin];
}

void Maximum::merge(const Maximum& other) {
  const double mine = rank_of(value);
  const double theirs = rank_of(other.value);
  if (theirs > mine || (theirs == mine && place_of(other) < place_of(*this))) *this = other;
  value = rank_of(value);
}

void MetricStats::merge(const MetricStats& other) {
  histogram.merge(other.histogram);
  max.merge(other.max);
}

void StatRow::merge(const StatRow& other) {
  cases += other.cases;
  row_heads += other.row_heads;
  elements += other.elements;
  correctly_rounded += other.correctly_rounded;
  ulp.merge(other.ulp);
  scaled_ulp.merge(other.scaled_ulp);
  steps.merge(other.steps);
  bound_use.merge(other.bound_use);
  digest += other.digest;
}

void LawRow::merge(const LawRow& other) {
  checked += other.checked;
  not_applicable += other.not_applicable;
  failed += other.failed;
}

void ChartRow::merge(const ChartRow& other) {
  row_heads += other.row_heads;
  scaled_ulp.merge(other.scaled_ulp);
  largest_bound = std::max(largest_bound, other.largest_bound);
}

void HuntStat::merge(const HuntStat& other) {
  evaluations += other.evaluations;
  const double mine = rank_of(bound_use);
  const double theirs = rank_of(other.bound_use);
  if (theirs < mine || (theirs == mine && worst <= other.worst)) return;
  bound_use = theirs;
  worst = other.worst;
}

void RunTotals::merge(const RunTotals& other) {
  cases += other.cases;
  row_heads += other.row_heads;
  elements += other.elements;
  failures += other.failures;
}

void RunResults::merge(const RunResults& other) {
  totals.merge(other.totals);
  merge_rows(stats, other.stats);
  merge_rows(laws, other.laws);
  merge_rows(charts, other.charts);
  merge_rows(hunts, other.hunts);
  for (const auto& [name, cases] : other.coverage) coverage[name] += cases;
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
  std::sort(failures.begin(), failures.end());
  replays.insert(other.replays.begin(), other.replays.end());
}

}  // namespace lsecheck
