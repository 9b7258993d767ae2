#pragma once

#include <string>
#include <vector>

// Plots in the HTML report.
namespace lsecheck::html {

struct Figure {
  std::string caption;      // plain text
  std::string description;  // plain text: what a reader who cannot see the plot is told
  std::string script;       // for gnuplot_figures
  std::string numbers;      // HTML: the table of what is plotted, folded away below it
};

// The figures side by side where there is room. Without gnuplot only their numbers, and one line that says so.
std::string figures(const std::vector<Figure>& figures);

}  // namespace lsecheck::html
