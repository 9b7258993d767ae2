#pragma once

#include <string>
#include <vector>

#include "reports/accuracy_table.h"

namespace lsecheck::html {

// Histograms of ulp and bound_use for each line of the accuracy table, then for each kernel, unit and output type the
// largest scaled_ulp over partitions and spread, and over the magnitude of the exponents with the curve of the bound.
// Every picture's numbers stand beside it as a table or as labels. Empty when nothing was graded.
std::string chart_section(const RunResults& results, const std::vector<AccuracyLine>& lines);

}  // namespace lsecheck::html
