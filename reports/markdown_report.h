#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/mutants_report.h"
#include "reports/night_history.h"
#include "reports/stored_run.h"

namespace lsecheck {

inline constexpr std::size_t kMarkdownLimit = (1u << 20) - 1;  // build systems refuse a summary of 1 MiB

// The report as GitHub-flavoured Markdown, at most `limit` bytes (at least 1000): verdict, nights (as in html_report),
// the score of the mutants, failures, accuracy, laws, worst cases, regimes, hunts. What does not fit is left out in
// whole blocks and counted at the end.
std::string markdown_report(const StoredRun& run, const std::vector<std::string>& not_covered,
                            const std::vector<Night>& nights,
                            const std::optional<MutantsReport>& mutants = std::nullopt,
                            std::size_t limit = kMarkdownLimit);

}  // namespace lsecheck
