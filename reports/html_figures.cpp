#include "reports/html_figures.h"

#include <fmt/format.h>

#include "reports/gnuplot.h"
#include "reports/html_page.h"

namespace lsecheck::html {

std::string figures(const std::vector<Figure>& figures) {
  std::vector<std::string> scripts;
  scripts.reserve(figures.size());
  for (const Figure& figure : figures) scripts.push_back(figure.script);
  const auto plots = gnuplot_figures(scripts);
  std::string text;
  if (!plots) text += "<p>No plots: gnuplot is not on this machine (Debian: apt-get install gnuplot-nox).</p>\n";
  text += "<div class=\"figures\">\n";
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::string image = plots ? fmt::format("<img alt=\"{}\" src=\"{}\" width=\"480\" height=\"260\">",
                                                  escape(figures[i].description), svg_address((*plots)[i]))
                                    : "";
    text +=
        fmt::format("<figure><figcaption>{}</figcaption>{}<details><summary>numbers</summary>{}</details></figure>\n",
                    escape(figures[i].caption), image, figures[i].numbers);
  }
  return text + "</div>\n";
}

}  // namespace lsecheck::html
