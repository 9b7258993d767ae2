#include "reports/terminal_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/accuracy_table.h"
#include "reports/run_summary.h"
#include "reports/text_table.h"

namespace lsecheck {
namespace {

constexpr std::size_t kColumns = 120;
constexpr const char* kRed = "\x1b[1;31m";
constexpr const char* kGreen = "\x1b[1;32m";
constexpr const char* kYellow = "\x1b[1;33m";

std::string coloured(const std::string& text, const char* colour, bool enabled) {
  return enabled ? colour + text + "\x1b[0m" : text;
}

const char* colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return kGreen;
    case Verdict::failed:
      return kRed;
    case Verdict::nothing_checked:
      break;
  }
  return kYellow;
}

// The lines [first, last) of one kernel and unit.
std::string kernel_section(const AccuracyLine* first, const AccuracyLine* last) {
  TextTable values(
      {"variant", "types", "cases", "row-heads", "elements", "% correct", "ulp", "scaled_ulp", "steps", "bound_use"},
      2);
  for (const AccuracyLine* line = first; line != last; ++line) {
    std::vector<std::string> value{line->key.variant,
                                   line->key.types(),
                                   format_count(line->cases),
                                   format_count(line->row_heads),
                                   format_count(line->elements),
                                   format_percent(line->correctly_rounded, line->elements)};
    for (const Metric metric : kAllMetrics) value.push_back(format_metric(metric, line->metric(metric).stats.max));
    values.add(value);
  }
  return fmt::format("\n{}, unit {}: % of elements correctly rounded, and the largest seen of each metric\n{}",
                     first->key.kernel, first->key.unit, values.str());
}

struct RegimeCell {
  std::uint64_t elements = 0;
  std::uint64_t correctly_rounded = 0;
  Maximum scaled_ulp;
  Maximum bound_use;
};

// What the inputs do to the accuracy: all variants and partial types of an output type together, regime by regime.
std::string regime_section(const std::vector<AccuracyLine>& regimes) {
  std::map<std::array<std::string, 4>, RegimeCell> cells;  // kernel, unit, regime, output type
  for (const AccuracyLine& line : regimes) {
    RegimeCell& cell = cells[{line.key.kernel, line.key.unit, line.key.lse_regime, line.key.out}];
    cell.elements += line.elements;
    cell.correctly_rounded += line.correctly_rounded;
    cell.scaled_ulp.merge(line.metric(Metric::scaled_ulp).stats.max);
    cell.bound_use.merge(line.metric(Metric::bound_use).stats.max);
  }
  TextTable table({"kernel", "unit", "LSE regime", "output", "elements", "% correct", "scaled_ulp", "bound_use"}, 4);
  for (const auto& [key, cell] : cells) {
    if (cell.elements == 0) continue;  // special values only
    table.add({key[0], key[1], key[2], key[3], format_count(cell.elements),
               format_percent(cell.correctly_rounded, cell.elements),
               format_metric(Metric::scaled_ulp, cell.scaled_ulp), format_metric(Metric::bound_use, cell.bound_use)});
  }
  return cells.empty() ? "" : "\nby LSE regime: the largest seen\n" + table.str();
}

std::string accuracy_section(const AccuracyTable& table) {
  std::string text;
  const AccuracyLine* const end = table.lines.data() + table.lines.size();
  for (const AccuracyLine* first = table.lines.data(); first != end;) {
    const AccuracyLine* const last = std::find_if(first, end, [&](const AccuracyLine& line) {
      return line.key.kernel != first->key.kernel || line.key.unit != first->key.unit;
    });
    text += kernel_section(first, last);
    first = last;
  }
  return text;
}

std::string law_section(const RunResults& results) {
  if (results.laws.empty()) return "";
  TextTable table({"kernel", "law", "checked", "n/a", "failed"}, 2);
  for (const auto& [key, row] : results.laws) {
    table.add(
        {key.kernel, key.law, format_count(row.checked), format_count(row.not_applicable), format_count(row.failed)});
  }
  return "\nlaws\n" + table.str();
}

std::string coverage_section(const std::vector<std::string>& not_covered) {
  if (not_covered.empty()) return "";
  std::string list;
  for (const std::string& name : not_covered) list += (list.empty() ? "" : ", ") + name;
  return "\nnot covered\n" + wrap(printable(list), "  ", kColumns);
}

// "\n7 more NAMES: the results as JSON hold all of them\n", or nothing where all were shown.
std::string more_text(std::size_t count, std::size_t shown, const char* names) {
  if (count <= shown) return "";
  return fmt::format("\n{} more {}: the results as JSON hold all of them\n", format_count(count - shown), names);
}

std::string failure_section(const StoredRun& run, std::size_t shown) {
  const RunResults& results = run.results;
  std::string text;
  const std::size_t count = std::min(shown, results.failures.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Failure& failure = results.failures[i];
    text +=
        "\n" +
        wrap(printable(fmt::format("{}: law {} failed in case {}", failure.kernel, failure.law, failure.case_index)),
             "", kColumns);
    text += wrap(printable(failure.shape), "  ", kColumns);
    for (const std::string& line : split_lines(printable(failure.message))) text += wrap(line, "    ", kColumns);
    text += "  " + printable(repro_line(run.context, failure.token)) + "\n";
    if (!failure.case_file.empty()) text += "  " + printable(repro_line(run.context, failure.case_file)) + "\n";
  }
  text += more_text(results.failures.size(), shown, "failures");
  return text;
}

std::string replay_section(const StoredRun& run, std::size_t shown) {
  std::string text;
  for (const ReplayGroup& group : replay_groups(run.results)) {
    if (!group.failing.empty()) text += "\n" + group.heading + "\n";
    for (std::size_t i = 0; i < std::min(shown, group.failing.size()); ++i) {
      const Replay& replay = *group.failing[i];
      text += wrap(printable(replay_line(replay)), "  ", kColumns);
      for (const std::string& line : replay_details(replay)) text += wrap(printable(line), "    ", kColumns);
      const std::string paste = replay_repro_line(run.context, replay);
      if (!paste.empty()) text += "  " + printable(paste) + "\n";
    }
    text += more_text(group.failing.size(), shown, "of them");
  }
  return text;
}

// Their failures stand among the others; here is what runs the search again.
std::string hunt_section(const StoredRun& run, std::size_t shown) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [key, row] : run.results.hunts) {
    if (!counts_as_failure(row) || ++count > shown) continue;
    text += wrap(printable(hunt_name(key) + ": law accuracy failed"), "  ", kColumns);
    text += "  " + printable(hunt_line(run.context, key)) + "\n";
  }
  if (count == 0) return "";
  return "\nhunts that failed\n" + text + more_text(count, shown, "of them");
}

}  // namespace

std::string terminal_report(const StoredRun& run, const TerminalOptions& options) {
  std::string text = coloured(verdict_word(run), colour_of(verdict_of(run)), options.colour) + "\n";
  text += wrap(verdict_basis(run), "", kColumns);
  text += wrap(printable(context_line(run.context)), "", kColumns);
  if (const std::string remark = unit_remark(run.context); !remark.empty()) text += wrap(remark, "", kColumns);
  const AccuracyTable accuracy = accuracy_table(run.results);
  text += printable(accuracy_section(accuracy));
  text += printable(regime_section(accuracy.regimes));
  text += printable(law_section(run.results));
  text += coverage_section(options.not_covered);
  text += failure_section(run, options.failures_shown);
  text += replay_section(run, options.failures_shown);
  text += hunt_section(run, options.failures_shown);
  text += "\n";
  for (const std::string& step : next_steps(run, options.not_covered)) text += printable(step) + "\n";
  return text;
}

}  // namespace lsecheck
