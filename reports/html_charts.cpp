#include "reports/html_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "properties/chart_bins.h"
#include "reports/html_page.h"

namespace lsecheck::html {
namespace {

// log2 with its fraction interpolated linearly: exact arithmetic, so the page is the same bytes everywhere. value > 0.
double log2_linear(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return exponent - 1 + (2 * fraction - 1);
}

std::string tick_of(int bin) {
  if (bin == 0) return "0";
  if (bin == ErrorHistogram::kBins - 1) return "inf";
  return bin % 4 == 0 ? format_value(ErrorHistogram::upper_edge(bin)) : "";
}

std::string histogram_of(const AccuracyLine& line, Metric metric) {
  const auto& count = line.metric(metric).stats.histogram.count;
  const auto occupied = [](std::uint64_t n) { return n > 0; };
  const auto first = std::find_if(count.begin(), count.end(), occupied);
  if (first == count.end()) return "";
  const auto last = std::find_if(count.rbegin(), count.rend(), occupied).base();
  const auto height = [](std::uint64_t n) { return log2_linear(static_cast<double>(n) + 1); };
  const double highest = height(*std::max_element(count.begin(), count.end()));
  std::vector<Bar> shown;
  for (auto n = first; n != last; ++n) {
    const int bin = static_cast<int>(n - count.begin());
    const std::string range = bin == 0 ? "exact" : "up to " + format_value(ErrorHistogram::upper_edge(bin));
    shown.push_back({range + ": " + format_count(*n) + " elements", height(*n) / highest, tick_of(bin)});
  }
  const Maximum& max = line.metric(metric).stats.max;
  return bars(shown, fmt::format("{}: {} {} {}, unit {}; largest seen {}", name_of(metric), line.key.kernel,
                                 line.key.variant, line.key.types(), line.key.unit, format_metric(metric, max)));
}

// The kernel, unit and output type of a figure.
using FigureKey = std::tuple<std::string, std::string, std::string>;
using Cells = std::map<std::pair<std::uint32_t, std::uint32_t>, ChartRow>;

std::map<FigureKey, Cells> figures_of(const RunResults& results, const std::string& chart) {
  std::map<FigureKey, Cells> figures;
  for (const auto& [key, row] : results.charts) {
    if (key.chart == chart) figures[{key.kernel, key.unit, key.out}][{key.x, key.y}] = row;
  }
  return figures;
}

std::string caption_of(const FigureKey& key) {
  return fmt::format("{}, unit {}, output {}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

// 0 .. 1 on a logarithmic scale between two values; infinite ones are the upper end.
class LogScale {
 public:
  void include(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    const double log = log2_linear(value);
    low_ = low_ ? std::min(*low_, log) : log;
    high_ = high_ ? std::max(*high_, log) : log;
  }
  double place(double value) const {
    if (!low_ || value <= 0) return 0;
    if (!std::isfinite(value)) return 1;
    return *high_ > *low_ ? std::clamp((log2_linear(value) - *low_) / (*high_ - *low_), 0.0, 1.0) : 1;
  }

 private:
  std::optional<double> low_, high_;
};

// A table whose cells are shaded: its numbers can be read, heard and copied.
std::string heat_map(const FigureKey& key, const Cells& cells) {
  std::uint32_t last_p = 0;
  std::uint32_t first_spread = kMagnitudeBins;
  std::uint32_t last_spread = 0;
  LogScale scale;
  for (const auto& [place, row] : cells) {
    last_p = std::max(last_p, place.first);
    first_spread = std::min(first_spread, place.second);
    last_spread = std::max(last_spread, place.second);
    scale.include(row.scaled_ulp.value);
  }
  std::string text = fmt::format(
      "<div class=\"wide\" tabindex=\"0\"><table class=\"heat\"><caption>{}</caption><thead><tr><th scope=\"col\">"
      "spread</th>",
      escape(caption_of(key)));
  for (std::uint32_t p = 0; p <= last_p; ++p) {
    text += fmt::format("<th scope=\"col\">P {}</th>", partition_bin_label(static_cast<int>(p)));
  }
  text += "</tr></thead><tbody>\n";
  for (std::uint32_t spread = first_spread; spread <= last_spread; ++spread) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", magnitude_bin_label(static_cast<int>(spread)));
    for (std::uint32_t p = 0; p <= last_p; ++p) {
      const auto cell = cells.find({p, spread});
      if (cell == cells.end()) {
        text += "<td></td>";
        continue;
      }
      const Maximum& max = cell->second.scaled_ulp;
      text += fmt::format("<td style=\"--heat:{:.0f}\" title=\"{} row-heads; case {}, {}\">{}</td>",
                          70 * scale.place(max.value), format_count(cell->second.row_heads), max.case_index,
                          escape(max.token), format_metric(Metric::scaled_ulp, max));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

constexpr double kWidth = 640;
constexpr double kHeight = 220;
constexpr double kMargin = 20;

std::string curve_svg(const FigureKey& key, const Cells& cells) {
  LogScale scale;
  for (const auto& [place, row] : cells) {
    scale.include(row.scaled_ulp.value);
    scale.include(row.largest_bound);
  }
  const double first = cells.begin()->first.first;
  const double span = std::max(1.0, cells.rbegin()->first.first - first);
  const auto x_of = [&](std::uint32_t bin) { return kMargin + (kWidth - 2 * kMargin) * (bin - first) / span; };
  const auto y_of = [&](double value) { return kMargin + (kHeight - 2 * kMargin) * (1 - scale.place(value)); };
  std::string points;
  std::string ticks;
  std::string path;
  for (const auto& [place, row] : cells) {
    const std::string label = magnitude_bin_label(static_cast<int>(place.first));
    const double x = x_of(place.first);
    points +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>up to {}: {}, bound {}</title></circle>", x,
                    y_of(row.scaled_ulp.value), label, format_metric(Metric::scaled_ulp, row.scaled_ulp),
                    format_value(row.largest_bound));
    ticks += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x, kHeight - 4, label);
    if (row.largest_bound > 0) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x, y_of(row.largest_bound));
    }
  }
  return fmt::format(
      "<svg class=\"curve\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}: largest scaled_ulp as "
      "points, "
      "bound as a dashed line, both logarithmic, over the largest exponent\"><line x1=\"0\" y1=\"{3:.0f}\" "
      "x2=\"{0:.0f}\" "
      "y2=\"{3:.0f}\"></line><path class=\"bound\" d=\"{4}\"></path>{5}{6}</svg>",
      kWidth, kHeight, escape(caption_of(key)), kHeight - kMargin + 4, path, points, ticks);
}

std::string curve(const FigureKey& key, const Cells& cells) {
  std::vector<std::vector<TableCell>> rows;
  for (const auto& [place, row] : cells) {
    rows.push_back(
        {{magnitude_bin_label(static_cast<int>(place.first)), std::to_string(place.first)},
         {format_count(row.row_heads), std::to_string(row.row_heads)},
         {format_metric(Metric::scaled_ulp, row.scaled_ulp), fmt::format("{}", row.scaled_ulp.value)},
         {row.largest_bound > 0 ? format_value(row.largest_bound) : "-", fmt::format("{}", row.largest_bound)},
         {escape(row.scaled_ulp.token), ""}});
  }
  return fmt::format(
      "<figure><figcaption>{}</figcaption>{}<details><summary>numbers</summary>{}</details></figure>\n",
      escape(caption_of(key)), curve_svg(key, cells),
      table({"abs(exponent) up to", "row-heads", "scaled_ulp, largest seen", "largest bound", "token"}, rows, 1));
}

}  // namespace

std::string chart_section(const RunResults& results, const std::vector<AccuracyLine>& lines) {
  std::string text;
  for (const Metric metric : {Metric::ulp, Metric::bound_use}) {
    std::string figures;
    for (const AccuracyLine& line : lines) figures += histogram_of(line, metric);
    if (figures.empty()) continue;
    text += fmt::format(
        "<h2>Distribution of {}</h2>\n<p class=\"dim\">Elements by error, both axes logarithmic; each bar is labelled "
        "with "
        "its upper edge.</p>\n{}",
        name_of(metric), figures);
  }
  std::string maps;
  for (const auto& [key, cells] : figures_of(results, "spread")) maps += heat_map(key, cells);
  if (!maps.empty()) {
    text +=
        "<h2>Largest scaled_ulp over partitions and spread</h2>\n<p class=\"dim\">Spread: largest minus smallest "
        "exponent "
        "of a row-head, as the kernel reads them; rows are labelled with their upper edge. Pointing at a cell shows "
        "its case.</p>\n" +
        maps;
  }
  std::string curves;
  for (const auto& [key, cells] : figures_of(results, "magnitude")) curves += curve(key, cells);
  if (!curves.empty()) {
    text +=
        "<h2>Error over the magnitude of the exponents</h2>\n<p class=\"dim\">Points: the largest scaled_ulp seen. "
        "Dashed: "
        "the largest proven bound in the same unit. Both over abs(largest exponent) of the row-head.</p>\n" +
        curves;
  }
  return text;
}

}  // namespace lsecheck::html
