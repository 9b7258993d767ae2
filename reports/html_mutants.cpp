#include "reports/html_mutants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reports/accuracy_table.h"
#include "reports/html_page.h"

namespace lsecheck::html {
namespace {

struct ClassRow {
  std::string text;
  std::uint64_t planted = 0;
  std::uint64_t killed = 0;
  std::uint64_t survived = 0;
  std::set<std::string> laws;
  std::uint64_t most_cases = 0;                         // of those killed
  std::array<std::uint64_t, kDetectorCount> flagged{};  // bugs, not cases
};

std::map<std::pair<int, std::string>, ClassRow> by_class(const MutantsReport& report) {
  std::map<std::pair<int, std::string>, ClassRow> classes;
  for (const MutantResult& result : report.mutants) {
    ClassRow& row = classes[{result.patch.class_number, result.patch.bug_class}];
    row.text = class_text(result.patch);
    ++row.planted;
    row.survived += result.outcome == MutantOutcome::survived;
    for (std::size_t d = 0; d < kDetectorCount; ++d) row.flagged[d] += result.flagged[d] > 0;
    if (result.outcome != MutantOutcome::killed) continue;
    ++row.killed;
    row.laws.insert(result.killed_by);
    row.most_cases = std::max(row.most_cases, result.cases);
  }
  return classes;
}

// A sentence, which may take several lines.
TableCell sentence_cell(const std::string& text, std::string sort_key) {
  return {"<span class=\"text\">" + escape(text) + "</span>", std::move(sort_key)};
}

TableCell count_cell(std::uint64_t count) {
  return {format_count(count), std::to_string(count)};
}

TableCell share_cell(std::uint64_t part, std::uint64_t whole) {
  return {part == 0 ? "missed" : fmt::format("{} of {}", format_count(part), format_count(whole)),
          std::to_string(part)};
}

std::vector<std::string> with_detectors(std::vector<std::string> header) {
  header.insert(header.end(), kDetectorHeadings.begin(), kDetectorHeadings.end());
  return header;
}

std::string class_table(const MutantsReport& report) {
  std::vector<std::vector<TableCell>> rows;
  for (const auto& [key, row] : by_class(report)) {
    std::vector<TableCell> cells{sentence_cell(row.text, std::to_string(key.first)),
                                 sentence_cell(fmt::format("{}", fmt::join(row.laws, ", ")), ""),
                                 count_cell(row.planted),
                                 count_cell(row.killed),
                                 count_cell(row.survived),
                                 count_cell(row.most_cases)};
    for (const std::uint64_t flagged : row.flagged) cells.push_back(share_cell(flagged, row.planted));
    rows.push_back(std::move(cells));
  }
  return table(with_detectors({"class", "first law", "planted", "killed", "survived", "most cases"}), rows, 2);
}

std::string mutant_table(const MutantsReport& report) {
  std::vector<std::vector<TableCell>> rows;
  for (const MutantResult& result : report.mutants) {
    std::vector<TableCell> cells{{escape(result.patch.name), ""},
                                 sentence_cell(class_text(result.patch), std::to_string(result.patch.class_number)),
                                 {outcome_word(result.outcome), ""},
                                 {escape(result.killed_by), ""},
                                 count_cell(result.cases)};
    for (const std::uint64_t flagged : result.flagged) {
      cells.push_back(share_cell(flagged, std::min(result.cases_run, report.cases)));
    }
    rows.push_back(std::move(cells));
  }
  return table(with_detectors({"planted bug", "class", "outcome", "first law", "cases"}), rows, 4);
}

std::string not_killed(const MutantsReport& report) {
  std::string items;
  for (const MutantResult& result : report.mutants) {
    if (result.outcome == MutantOutcome::killed) continue;
    items += fmt::format("<li><b class=\"failed\">{}</b> {} ({}){}{}</li>", outcome_word(result.outcome),
                         escape(result.patch.name), escape(class_text(result.patch)), result.detail.empty() ? "" : ": ",
                         escape(result.detail));
  }
  return items.empty() ? "" : "<ul>" + items + "</ul>\n";
}

}  // namespace

std::string mutants_section(const MutantsReport& report) {
  std::vector<std::string> alarms;
  for (std::size_t d = 0; d < kDetectorCount; ++d) {
    alarms.push_back(fmt::format("{} {}", kDetectorHeadings[d], format_count(report.false_alarms[d])));
  }
  return fmt::format(
      "<h2>Planted bugs</h2>\n<p><b>{}</b>, profile {}.</p>\n{}<p class=\"dim\">Most cases: of the bug of the class "
      "that took the most until a law failed. The last five columns are the checks that tests usually make, over at "
      "most the first {} cases: how many bugs they flag that they let pass without the bug. Cases of the sound kernels "
      "that they flag: {}.</p>\n{}<details><summary>every planted bug</summary>{}</details>\n",
      mutant_score(report), escape(report.profile), not_killed(report), format_count(report.cases),
      fmt::join(alarms, ", "), class_table(report), mutant_table(report));
}

}  // namespace lsecheck::html
