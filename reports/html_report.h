#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/stored_run.h"

namespace lsecheck {

inline constexpr std::size_t kHtmlFailuresShown = 1000;

// One self-contained page (no requests, and a policy in it that forbids them): the verdict, failures with lines to
// copy, accuracy, histograms, worst cases, laws, accuracy by regime. Every text of the run is escaped.
std::string html_report(const StoredRun& run, const std::vector<std::string>& not_covered);

}  // namespace lsecheck
