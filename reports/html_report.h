#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/mutants_report.h"
#include "reports/night_history.h"
#include "reports/stored_run.h"

namespace lsecheck {

inline constexpr std::size_t kHtmlFailuresShown = 1000;

// One self-contained page (no requests, and a policy in it that forbids them): the verdict, the nights before,
// failures with lines to copy, accuracy, worst cases, hunts, laws, accuracy by regime, plots. Every text of the run is
// escaped. `nights`: oldest first, this run the last; empty or one: the page says nothing about nights. `mutants`: what
// became of planted bugs, behind the laws.
std::string html_report(const StoredRun& run, const std::vector<std::string>& not_covered,
                        const std::vector<Night>& nights, const std::optional<MutantsReport>& mutants = std::nullopt);

}  // namespace lsecheck
