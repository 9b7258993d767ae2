#include "reports/html_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/accuracy_table.h"
#include "reports/html_charts.h"
#include "reports/html_mutants.h"
#include "reports/html_nights.h"
#include "reports/html_page.h"
#include "reports/run_summary.h"

namespace lsecheck {
namespace {

using html::copyable;
using html::escape;
using Cells = std::vector<html::TableCell>;

html::TableCell text_cell(const std::string& text) {
  return {escape(text), ""};
}
html::TableCell count_cell(std::uint64_t count) {
  return {format_count(count), std::to_string(count)};
}

html::TableCell metric_cell(Metric metric, const MetricSummary& summary) {
  const Maximum& max = summary.stats.max;
  std::string content = format_metric(metric, max);
  if (max.value >= 0) content += "<br><small>" + escape(format_place(summary)) + "</small>";
  return {content, fmt::format("{}", max.value)};
}

std::string header_section(const StoredRun& run, const std::vector<std::string>& not_covered,
                           const std::vector<Night>& nights) {
  const Verdict verdict = verdict_of(run);
  const char* const style = verdict == Verdict::clean ? "clean" : verdict == Verdict::failed ? "failed" : "nothing";
  std::string text =
      fmt::format("<h1 class=\"{}\">{}</h1>\n<p>{}</p>\n<p class=\"dim\">{}<br>{}</p>\n", style,
                  escape(verdict_word(run)), escape(verdict_basis(run)), escape(context_line(run.context)),
                  escape(run.context.compiler + ", " + run.context.flags));
  if (const std::string verdict_of_all = nights_verdict(nights); !verdict_of_all.empty()) {
    text += "<p><b>" + escape(verdict_of_all) + "</b></p>\n";
  }
  if (const std::string remark = unit_remark(run.context); !remark.empty()) text += "<p>" + escape(remark) + "</p>\n";
  if (!not_covered.empty()) {
    text += "<h2>Not covered</h2>\n<ul>";
    for (const std::string& name : not_covered) text += "<li>" + escape(name) + "</li>";
    text += "</ul>\n";
  }
  return text;
}

std::string failure_section(const StoredRun& run) {
  const RunResults& results = run.results;
  if (results.failures.empty()) return "";
  std::string text = "<h2>Failures</h2>\n";
  const std::size_t shown = std::min(results.failures.size(), kHtmlFailuresShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Failure& f = results.failures[i];
    text +=
        fmt::format("<article><h3>{}: law {}, case {}</h3><p>{}</p><pre>{}</pre>{}", escape(f.kernel), escape(f.law),
                    f.case_index, escape(f.shape), escape(f.message), copyable(repro_line(run.context, f.token)));
    if (!f.case_file.empty()) text += copyable(repro_line(run.context, f.case_file));
    text += "</article>\n";
  }
  if (shown < results.failures.size()) {
    text += fmt::format("<p>{} more failures: the JSON results hold all of them.</p>\n",
                        format_count(results.failures.size() - shown));
  }
  return text;
}

std::string replay_section(const StoredRun& run) {
  std::string text;
  for (const ReplayGroup& group : replay_groups(run.results)) {
    if (group.failing.empty()) continue;
    text += "<h2>" + escape(capitalised(group.heading)) + "</h2>\n<ul>";
    for (const Replay* replay : group.failing) {
      text += "<li>" + escape(replay_line(*replay));
      const std::string paste = replay_repro_line(run.context, *replay);
      if (!paste.empty()) text += copyable(paste);
      std::string details;
      for (const std::string& line : replay_details(*replay)) details += escape(line) + "\n";
      if (!details.empty()) text += "<pre>" + details + "</pre>";
      text += "</li>";
    }
    text += "</ul>\n";
  }
  return text;
}

std::string hunt_section(const StoredRun& run) {
  if (run.results.hunts.empty()) return "";
  std::vector<Cells> rows;
  rows.reserve(run.results.hunts.size());
  for (const auto& [key, row] : run.results.hunts) {
    rows.push_back({text_cell(key.kernel),
                    text_cell(key.exponent),
                    text_cell(key.types()),
                    text_cell(key.arch),
                    text_cell(key.lse_regime),
                    count_cell(key.num_partitions),
                    count_cell(row.evaluations),
                    {format_hunted(row), fmt::format("{}", row.bound_use)},
                    {copyable(hunt_line(run.context, key)), ""}});
  }
  return "<h2>Hunts</h2>\n<p class=\"dim\">The hunter searched each target for the largest share of the bound, from "
         "the "
         "seed of the run. The cases it found are in the JSON results.</p>\n" +
         html::table({"kernel", "exponent", "types", "arch", "LSE regime", "P", "evaluations",
                      "bound_use, largest seen", "again"},
                     rows, 5);
}

std::string accuracy_section(const std::vector<AccuracyLine>& lines, bool by_regime) {
  std::vector<std::string> header{"kernel", "variant", "types", "unit"};
  if (by_regime) header.emplace_back("LSE regime");
  const std::size_t left_aligned = header.size();
  for (const char* name : {"cases", "row-heads", "elements", "% correctly rounded"}) header.emplace_back(name);
  for (const Metric metric : kAllMetrics) header.push_back(std::string(name_of(metric)) + ", largest seen");
  std::vector<Cells> rows;
  for (const AccuracyLine& line : lines) {
    Cells row{text_cell(line.key.kernel), text_cell(line.key.variant), text_cell(line.key.types()),
              text_cell(line.key.unit)};
    if (by_regime) row.push_back(text_cell(line.key.lse_regime));
    for (const std::uint64_t count : {line.cases, line.row_heads, line.elements}) row.push_back(count_cell(count));
    const std::string percent = format_percent(line.correctly_rounded, line.elements);
    row.push_back({percent, percent == "-" ? "-1" : percent});
    for (const Metric metric : kAllMetrics) row.push_back(metric_cell(metric, line.metric(metric)));
    rows.push_back(row);
  }
  return fmt::format("<h2>{}</h2>\n{}", by_regime ? "Accuracy by LSE regime" : "Accuracy",
                     html::table(header, rows, left_aligned));
}

std::string worst_case_section(const RunContext& context, const std::vector<AccuracyLine>& lines) {
  std::vector<Cells> rows;
  for (const AccuracyLine& line : lines) {
    for (const Metric metric : kAllMetrics) {
      const MetricSummary& summary = line.metric(metric);
      const Maximum& max = summary.stats.max;
      if (max.value < 0) continue;
      rows.push_back({text_cell(line.key.kernel),
                      text_cell(line.key.variant),
                      text_cell(line.key.types()),
                      text_cell(name_of(metric)),
                      metric_cell(metric, summary),
                      text_cell(summary.place.arch),
                      count_cell(max.case_index),
                      count_cell(max.row_head),
                      count_cell(max.depth_index),
                      text_cell(format_bits(line.key.out, max.got_bits)),
                      text_cell(format_bits(line.key.out, max.correctly_rounded_bits)),
                      {copyable(repro_line(context, max.token)), ""}});
    }
  }
  return "<h2>Worst cases</h2>\n" + html::table({"kernel", "variant", "types", "metric", "largest seen", "arch", "case",
                                                 "row-head", "depth", "got", "correctly rounded", "replay"},
                                                rows, 4);
}

std::string law_section(const RunResults& results) {
  std::vector<Cells> rows;
  rows.reserve(results.laws.size());
  for (const auto& [key, row] : results.laws) {
    rows.push_back({text_cell(key.kernel), text_cell(key.law), count_cell(row.checked), count_cell(row.not_applicable),
                    count_cell(row.failed)});
  }
  return "<h2>Laws</h2>\n" + html::table({"kernel", "law", "checked", "n/a", "failed"}, rows, 2);
}

}  // namespace

std::string html_report(const StoredRun& run, const std::vector<std::string>& not_covered,
                        const std::vector<Night>& nights, const std::optional<MutantsReport>& mutants) {
  const AccuracyTable table = accuracy_table(run.results);
  return html::page("lsecheck: " + verdict_word(run),
                    header_section(run, not_covered, nights) + html::nights_section(nights) + failure_section(run) +
                        replay_section(run) + accuracy_section(table.lines, false) +
                        worst_case_section(run.context, table.lines) + hunt_section(run) + law_section(run.results) +
                        (mutants ? html::mutants_section(*mutants) : "") + accuracy_section(table.regimes, true) +
                        html::chart_section(run.results, table.lines));
}

}  // namespace lsecheck
