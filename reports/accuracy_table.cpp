#include "reports/accuracy_table.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace lsecheck {
namespace {

void merge_metric(MetricSummary& into, const MetricStats& from, const StatKey& place) {
  // Which of the two the merge keeps says where the maximum came from: a case belongs to a single stat row.
  Maximum merged = into.stats.max;
  merged.merge(from.max);
  const bool replaced = into.stats.max.value < 0 || merged.value != into.stats.max.value ||
                        merged.case_index != into.stats.max.case_index || merged.token != into.stats.max.token;
  if (replaced) into.place = place;
  into.stats.merge(from);
}

void add(AccuracyLine& line, const StatKey& key, const StatRow& row) {
  line.cases += row.cases;
  line.row_heads += row.row_heads;
  line.elements += row.elements;
  line.correctly_rounded += row.correctly_rounded;
  line.digest += row.digest;
  const std::array<const MetricStats*, kAllMetrics.size()> metrics{&row.ulp, &row.scaled_ulp, &row.steps,
                                                                   &row.bound_use};
  for (std::size_t i = 0; i < metrics.size(); ++i) merge_metric(line.metrics[i], *metrics[i], key);
}

std::vector<AccuracyLine> group(const RunResults& results, bool by_regime) {
  std::map<AccuracyKey, AccuracyLine> lines;
  for (const auto& [key, row] : results.stats) {
    const AccuracyKey group_key{key.kernel, key.unit,    key.variant,
                                key.out,    key.partial, by_regime ? key.lse_regime : ""};
    AccuracyLine& line = lines[group_key];
    line.key = group_key;
    add(line, key, row);
  }
  std::vector<AccuracyLine> ordered;
  ordered.reserve(lines.size());
  for (auto& [key, line] : lines) ordered.push_back(std::move(line));
  return ordered;
}

// Whether the text stands on the same side of the limit as the value: 0.99999 must not be shown as 1.
bool keeps_side(double value, const std::string& text, double limit) {
  const double shown = std::strtod(text.c_str(), nullptr);
  return (value < limit) == (shown < limit) && (value > limit) == (shown > limit);
}

}  // namespace

const char* name_of(Metric metric) {
  switch (metric) {
    case Metric::ulp:
      return "ulp";
    case Metric::scaled_ulp:
      return "scaled_ulp";
    case Metric::steps:
      return "steps";
    case Metric::bound_use:
      break;
  }
  return "bound_use";
}

AccuracyTable accuracy_table(const RunResults& results) {
  return {group(results, false), group(results, true)};
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t end = text.size(); end > 3;) text.insert(end -= 3, 1, ',');
  return text;
}

std::string format_value(double value) {
  if (std::isinf(value)) return "inf";
  std::string text;
  for (int digits = 4; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    if (keeps_side(value, text, 0.5) && keeps_side(value, text, 1.0)) break;
  }
  return text;
}

std::string format_metric(Metric metric, const Maximum& maximum) {
  if (maximum.value < 0) return "-";
  // A distance in representable values is a whole number, below 2^53 for every type.
  if (metric == Metric::steps && std::isfinite(maximum.value)) return fmt::format("{:.0f}", maximum.value);
  return format_value(maximum.value);
}

std::string format_percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  const auto ten_thousandths = static_cast<std::uint64_t>(static_cast<unsigned __int128>(part) * 1'000'000 / whole);
  return fmt::format("{}.{:04}", ten_thousandths / 10'000, ten_thousandths % 10'000);
}

std::string format_place(const MetricSummary& metric) {
  return metric.stats.max.value < 0 ? "-" : metric.place.p_class + "/" + metric.place.lse_regime;
}

std::string format_bits(const std::string& out, std::uint32_t bits) {
  return out == "f32" ? fmt::format("0x{:08x}", bits) : fmt::format("0x{:04x}", bits);
}

}  // namespace lsecheck
