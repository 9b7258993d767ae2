#include "reports/html_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "properties/chart_bins.h"
#include "reports/gnuplot.h"
#include "reports/html_figures.h"
#include "reports/html_page.h"

namespace lsecheck::html {
namespace {

// The lines of the accuracy table that share a figure: kernel, unit, output type.
using FigureKey = std::tuple<std::string, std::string, std::string>;
using Lines = std::vector<const AccuracyLine*>;

std::string range_of(int bin) {
  return bin == 0 ? "exact" : "up to " + format_value(ErrorHistogram::upper_edge(bin));
}

// First and last bin that holds anything; last < first: none does.
std::pair<int, int> occupied_bins(const Lines& lines, Metric metric) {
  std::pair<int, int> range{ErrorHistogram::kBins, -1};
  for (const AccuracyLine* line : lines) {
    const auto& count = line->metric(metric).stats.histogram.count;
    for (int bin = 0; bin < ErrorHistogram::kBins; ++bin) {
      if (count[static_cast<std::size_t>(bin)] == 0) continue;
      range = {std::min(range.first, bin), std::max(range.second, bin)};
    }
  }
  return range;
}

std::uint64_t count_in(const AccuracyLine& line, Metric metric, int bin) {
  return line.metric(metric).stats.histogram.count[static_cast<std::size_t>(bin)];
}

std::string histogram_script(const Lines& lines, Metric metric, std::pair<int, int> bins) {
  std::string ticks;
  for (int bin = bins.first; bin <= bins.second; ++bin) {
    // Each bin is half a binade; the first and the last have words, which must not run into a neighbour's number.
    const bool infinite = bin == ErrorHistogram::kBins - 1;
    const bool labelled = bin == 0 || infinite || (bin % 12 == 0 && bin + 6 < ErrorHistogram::kBins);
    if (!labelled) continue;
    ticks += fmt::format("{}{} {}", ticks.empty() ? "" : ",",
                         gnuplot_quoted(bin == 0   ? "exact"
                                        : infinite ? "inf"
                                                   : fmt::format("2^{}", std::ilogb(ErrorHistogram::upper_edge(bin)))),
                         bin);
  }
  std::string script = fmt::format(
      "set key bottom outside center horizontal\nset logscale y\nset yrange [0.7:*]\nset ylabel 'elements'\nset xlabel "
      "{}\nset xtics "
      "({})\n",
      gnuplot_quoted(name_of(metric)), ticks);
  std::string curves;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    script += fmt::format("$d{} << EOD\n", i);
    // A bin with nothing lies below the range: 0 has no logarithm.
    for (int bin = bins.first; bin <= bins.second; ++bin) {
      const std::uint64_t count = count_in(*lines[i], metric, bin);
      script += fmt::format("{} {}\n", bin, count == 0 ? "0.5" : std::to_string(count));
    }
    script += "EOD\n";
    curves += fmt::format("{}$d{} with histeps title {}", i == 0 ? "" : ", ", i,
                          gnuplot_quoted(lines[i]->key.variant + " " + lines[i]->key.types()));
  }
  return script + "plot " + curves;
}

std::string histogram_numbers(const Lines& lines, Metric metric, std::pair<int, int> bins) {
  std::vector<std::string> header{std::string(name_of(metric))};
  for (const AccuracyLine* line : lines) header.push_back(line->key.variant + " " + line->key.types());
  std::vector<std::vector<TableCell>> rows;
  for (int bin = bins.first; bin <= bins.second; ++bin) {
    std::vector<TableCell> row{{range_of(bin), std::to_string(bin)}};
    for (const AccuracyLine* line : lines) {
      const std::uint64_t count = count_in(*line, metric, bin);
      row.push_back({format_count(count), std::to_string(count)});
    }
    rows.push_back(row);
  }
  return table(header, rows, 1);
}

std::string caption_of(const FigureKey& key) {
  return fmt::format("{}, unit {}, output {}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

std::string largest_of(const Lines& lines, Metric metric) {
  const auto value = [&](const AccuracyLine* line) { return line->metric(metric).stats.max.value; };
  const auto* const worst = *std::max_element(
      lines.begin(), lines.end(), [&](const auto* one, const auto* other) { return value(one) < value(other); });
  return format_metric(metric, worst->metric(metric).stats.max);
}

std::vector<Figure> histograms(const std::vector<AccuracyLine>& lines, Metric metric) {
  std::map<FigureKey, Lines> figures;
  for (const AccuracyLine& line : lines) {
    figures[{line.key.kernel, line.key.unit, line.key.out}].push_back(&line);
  }
  std::vector<Figure> drawn;
  for (const auto& [key, of_figure] : figures) {
    const std::pair<int, int> bins = occupied_bins(of_figure, metric);
    if (bins.second < bins.first) continue;
    const std::string caption = fmt::format("{}; largest seen {}", caption_of(key), largest_of(of_figure, metric));
    drawn.push_back({caption, fmt::format("histogram of {} over elements: {}", name_of(metric), caption),
                     histogram_script(of_figure, metric, bins), histogram_numbers(of_figure, metric, bins)});
  }
  return drawn;
}

using Cells = std::map<std::pair<std::uint32_t, std::uint32_t>, ChartRow>;

std::map<FigureKey, Cells> figures_of(const RunResults& results, const std::string& chart) {
  std::map<FigureKey, Cells> figures;
  for (const auto& [key, row] : results.charts) {
    if (key.chart == chart) figures[{key.kernel, key.unit, key.out}][{key.x, key.y}] = row;
  }
  return figures;
}

// log2 with its fraction interpolated linearly: exact arithmetic, so the page is the same bytes everywhere. value > 0.
double log2_linear(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return exponent - 1 + (2 * fraction - 1);
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

// Every curve has this range, so that kernels and nights compare; what lies outside is drawn at its edge.
constexpr double kLowestError = 0x1p-6;
constexpr double kHighestError = 0x1p20;

std::string curve_script(const Cells& cells) {
  std::string ticks;
  std::string points;
  std::string bounds;
  for (int bin = 0; bin < kMagnitudeBins; bin += 4) {
    ticks += fmt::format("{}{} {}", bin == 0 ? "" : ",", gnuplot_quoted(magnitude_bin_label(bin)), bin);
  }
  for (const auto& [place, row] : cells) {
    const auto shown = [](double value) { return std::clamp(value, kLowestError, kHighestError); };
    points += fmt::format("{} {}\n", place.first, shown(row.scaled_ulp.value));
    if (row.largest_bound > 0) bounds += fmt::format("{} {}\n", place.first, shown(row.largest_bound));
  }
  if (bounds.empty()) bounds = "0 NaN\n";
  return fmt::format(
      "set key left top\nset logscale y 2\nset format y '2^%L'\nset xrange [0:{}]\nset yrange [{}:{}]\nset xlabel "
      "'abs(largest exponent) up to'\nset ylabel 'scaled ulp'\nset xtics ({})\n$e << EOD\n{}EOD\n$b << "
      "EOD\n{}EOD\nplot $b with lines dashtype 2 title 'largest bound', $e with points pointtype 7 pointsize 0.5 title "
      "'largest error'",
      kMagnitudeBins - 1, kLowestError / 2, 2 * kHighestError, ticks, points, bounds);
}

std::string curve_numbers(const Cells& cells) {
  std::vector<std::vector<TableCell>> rows;
  for (const auto& [place, row] : cells) {
    rows.push_back(
        {{magnitude_bin_label(static_cast<int>(place.first)), std::to_string(place.first)},
         {format_count(row.row_heads), std::to_string(row.row_heads)},
         {format_metric(Metric::scaled_ulp, row.scaled_ulp), fmt::format("{}", row.scaled_ulp.value)},
         {row.largest_bound > 0 ? format_value(row.largest_bound) : "-", fmt::format("{}", row.largest_bound)},
         {escape(row.scaled_ulp.token), ""}});
  }
  return table({"abs(exponent) up to", "row-heads", "scaled_ulp, largest seen", "largest bound", "token"}, rows, 1);
}

std::vector<Figure> curves(const RunResults& results) {
  const std::map<FigureKey, Cells> by_kernel = figures_of(results, "magnitude");
  // Unit and output type first: the kernels that compare stand beside each other.
  std::map<FigureKey, const Cells*> ordered;
  for (const auto& [key, cells] : by_kernel) {
    const auto& [kernel, unit, out] = key;
    ordered[{unit, out, kernel}] = &cells;
  }
  std::vector<Figure> drawn;
  for (const auto& [key, cells] : ordered) {
    const auto& [unit, out, kernel] = key;
    const std::string caption = caption_of({kernel, unit, out});
    drawn.push_back({caption, caption + ": largest scaled_ulp as points, the bound as a dashed line",
                     curve_script(*cells), curve_numbers(*cells)});
  }
  return drawn;
}

}  // namespace

std::string chart_section(const RunResults& results, const std::vector<AccuracyLine>& lines) {
  std::string text;
  for (const Metric metric : {Metric::ulp, Metric::bound_use}) {
    const std::vector<Figure> drawn = histograms(lines, metric);
    if (drawn.empty()) continue;
    text += fmt::format(
        "<h2>Distribution of {}</h2>\n<p class=\"dim\">Elements by error, both axes logarithmic; a step is labelled "
        "with its upper edge.</p>\n{}",
        name_of(metric), figures(drawn));
  }
  std::string maps;
  for (const auto& [key, cells] : figures_of(results, "spread")) maps += heat_map(key, cells);
  if (!maps.empty()) {
    text +=
        "<h2>Largest scaled_ulp over partitions and spread</h2>\n<p class=\"dim\">Spread: largest minus smallest "
        "exponent of a row-head, as the kernel reads them; rows are labelled with their upper edge. Pointing at a cell "
        "shows its case.</p>\n" +
        maps;
  }
  if (const std::vector<Figure> drawn = curves(results); !drawn.empty()) {
    text +=
        "<h2>Error over the magnitude of the exponents</h2>\n<p class=\"dim\">Points: the largest scaled_ulp seen; "
        "dashed: the largest proven bound in the same unit; over abs(largest exponent) of the row-heads whose spread "
        "is at most 100. Below 2^-6 and above 2^20 they stand at the edge. A kernel that "
        "normalises through the global LSE loses bits as that grows; one that subtracts the maximum does not.</p>\n" +
        figures(drawn);
  }
  return text;
}

}  // namespace lsecheck::html
