#include "reports/html_nights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/accuracy_table.h"
#include "reports/gnuplot.h"
#include "reports/html_figures.h"
#include "reports/html_page.h"

namespace lsecheck::html {
namespace {

std::string what_failed(const Night& night) {
  std::string text;
  for (const auto& [key, failure] : night.failures) {
    text += fmt::format("<p><b>{}: law {}</b>, {} {}</p>", escape(key.first), escape(key.second),
                        format_count(failure.count), failure.count == 1 ? "case" : "cases");
    if (!failure.repro.empty()) text += copyable(failure.repro);
  }
  for (const UnmendedReplay& replay : night.unmended) {
    text += "<p>" + escape(replay.line) + "</p>";
    if (!replay.repro.empty()) text += copyable(replay.repro);
  }
  return text;
}

std::string nights_table(const std::vector<Night>& nights) {
  std::vector<std::vector<TableCell>> rows;
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    rows.push_back(
        {{escape(night->file), ""},
         {fmt::format("<span class=\"{}\">{}</span>", night->failed ? "failed" : "clean", night->verdict), ""},
         {what_failed(*night), ""},
         {escape(night->commit), ""},
         {std::to_string(night->seed), std::to_string(night->seed)},
         {format_count(night->cases), std::to_string(night->cases)}});
  }
  return table({"night", "verdict", "what failed", "commit", "seed", "cases"}, rows, 4);
}

// -1 where the kernel was not graded that night.
double bound_use_of(const Night& night, const std::string& kernel) {
  const auto found = night.bound_use.find(kernel);
  return found == night.bound_use.end() ? -1 : found->second;
}

Figure bound_use_figure(const std::vector<Night>& nights) {
  std::set<std::string> kernels;
  for (const Night& night : nights) {
    for (const auto& [kernel, value] : night.bound_use) kernels.insert(kernel);
  }
  std::string ticks;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    ticks += fmt::format("{}{} {}", i == 0 ? "" : ",", gnuplot_quoted(std::to_string(nights[i].seed)), i);
  }
  std::string script = fmt::format(
      "set key outside right\nset xtics rotate by -30 ({})\nset xrange [-0.2:{}]\nset yrange "
      "[0:2]\nset ylabel 'largest bound use'\n",
      ticks, static_cast<double>(nights.size()) - 0.8);
  std::string curves = "1 with lines linecolor rgb '#c62828' dashtype 2 title 'bound'";
  std::vector<std::string> header{"seed"};
  std::size_t k = 0;
  for (const std::string& kernel : kernels) {
    script += fmt::format("$d{} << EOD\n", k);
    for (std::size_t i = 0; i < nights.size(); ++i) {
      const double value = bound_use_of(nights[i], kernel);
      // Twice the bound and worse stand at the upper edge.
      script += value < 0 ? fmt::format("{} NaN\n", i) : fmt::format("{} {}\n", i, std::min(value, 2.0));
    }
    script += "EOD\n";
    curves += fmt::format(", $d{} with linespoints pointsize 0.6 title {}", k, gnuplot_quoted(kernel));
    header.push_back(kernel);
    ++k;
  }
  std::vector<std::vector<TableCell>> rows;
  for (const Night& night : nights) {
    std::vector<TableCell> row{{std::to_string(night.seed), std::to_string(night.seed)}};
    for (const std::string& kernel : kernels) {
      const double value = bound_use_of(night, kernel);
      row.push_back({value < 0 ? "-" : format_value(value), fmt::format("{}", value)});
    }
    rows.push_back(row);
  }
  const std::string caption = "Largest bound_use of each kernel with f32 output; above 1 the law accuracy fails";
  return {caption, caption + ", night by night", script + "plot " + curves, table(header, rows, 1)};
}

}  // namespace

std::string nights_section(const std::vector<Night>& nights) {
  if (nights.size() < 2) return "";
  return "<h2>Nights</h2>\n" + nights_table(nights) + figures({bound_use_figure(nights)});
}

}  // namespace lsecheck::html
