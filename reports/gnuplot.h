#pragma once

#include <optional>
#include <string>
#include <vector>

// Figures drawn by gnuplot, as SVG that can stand inside a page.
namespace lsecheck {

// Text between quotes for a gnuplot script. What a foreign file says must stay text: quotes are doubled, control
// characters dropped, and gnuplot runs nothing inside single quotes.
std::string gnuplot_quoted(const std::string& text);

// One SVG for each script, in order; each script holds one `plot`. Colours follow the reader's light or dark scheme.
// nullopt where no gnuplot is on the PATH or it refused a script: figures are worth less than the page around them.
std::optional<std::vector<std::string>> gnuplot_figures(const std::vector<std::string>& scripts);

// The SVG as the address of an <img>, between double quotes.
std::string svg_address(const std::string& svg);

}  // namespace lsecheck
