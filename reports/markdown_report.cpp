#include "reports/markdown_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/accuracy_table.h"
#include "reports/run_summary.h"

namespace lsecheck {
namespace {

constexpr std::size_t kReservedForNotice = 200;

// Text that Markdown and the HTML inside it leave alone.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '\n') {
      safe += ' ';
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|#~>").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

// A fence longer than any run of backticks inside.
std::string code_block(const std::string& text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return fence + "\n" + printable(text) + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

// To paste as it stands; text that would end the code or the cell is escaped as any other.
std::string inline_code(const std::string& text) {
  return text.find_first_of("`|\n\\") == std::string::npos ? "`" + printable(text) + "`" : escaped(text);
}

std::string table_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + escaped(cell) + " |";
  return row + "\n";
}

std::string table_head(const std::vector<std::string>& cells, std::size_t left_aligned) {
  std::string head = table_row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) head += i < left_aligned ? " --- |" : " ---: |";
  return head + "\n";
}

// Adds blocks as long as they fit and counts those that do not.
class CappedText {
 public:
  explicit CappedText(std::size_t limit) : limit_(limit) {}

  void add(const std::string& block) {
    if (text_.size() + block.size() > limit_ - kReservedForNotice) {
      ++blocks_left_out_;
      bytes_left_out_ += block.size();
    } else {
      text_ += block;
    }
  }
  std::string str() const {
    if (blocks_left_out_ == 0) return text_;
    return text_ +
           fmt::format(
               "\nLeft out to stay under {} bytes: {} rows or failures ({} bytes). The JSON results hold all.\n",
               format_count(limit_), format_count(blocks_left_out_), format_count(bytes_left_out_));
  }

 private:
  std::size_t limit_;
  std::string text_;
  std::uint64_t blocks_left_out_ = 0;
  std::uint64_t bytes_left_out_ = 0;
};

void add_failures(const StoredRun& run, CappedText& text) {
  const RunResults& results = run.results;
  if (results.failures.empty()) return;
  text.add("\n## Failures\n");
  for (const Failure& f : results.failures) {
    std::string paste = repro_line(run.context, f.token) + "\n";
    if (!f.case_file.empty()) paste += repro_line(run.context, f.case_file) + "\n";
    text.add(fmt::format("\n**{}: law {}, case {}** {}\n\n{}\n{}", escaped(f.kernel), escaped(f.law), f.case_index,
                         escaped(f.shape), code_block(paste), code_block(f.message)));
  }
}

void add_nights(const std::vector<Night>& nights, CappedText& text) {
  if (nights.size() < 2) return;
  text.add(fmt::format("\n## Nights\n\n{}\n\n{}", nights_verdict(nights),
                       table_head({"night", "verdict", "what failed", "commit", "seed", "cases"}, 4)));
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    std::string failed;
    for (const auto& [key, failure] : night->failures) {
      failed += fmt::format("{}{}: law {}, {} cases: {}", failed.empty() ? "" : "; ", key.first, key.second,
                            failure.count, failure.repro);
    }
    for (const UnmendedReplay& replay : night->unmended) {
      failed += (failed.empty() ? "" : "; ") + replay.line + (replay.repro.empty() ? "" : ": " + replay.repro);
    }
    text.add(table_row(
        {night->file, night->verdict, failed, night->commit, std::to_string(night->seed), format_count(night->cases)}));
  }
}

void add_replays(const StoredRun& run, CappedText& text) {
  for (const ReplayGroup& group : replay_groups(run.results)) {
    if (!group.failing.empty()) text.add("\n## " + capitalised(group.heading) + "\n");
    for (const Replay* replay : group.failing) {
      const std::string paste = replay_repro_line(run.context, *replay);
      std::string details;
      for (const std::string& line : replay_details(*replay)) details += line + "\n";
      text.add("\n" + escaped(replay_line(*replay)) + "\n" + (paste.empty() ? "" : "\n" + code_block(paste)) +
               (details.empty() ? "" : "\n" + code_block(details)));
    }
  }
}

// The finds themselves are in the JSON results: they are long.
void add_hunts(const StoredRun& run, CappedText& text) {
  if (run.results.hunts.empty()) return;
  text.add("\n## Hunts\n\n" + table_head({"kernel", "exponent", "types", "arch", "LSE regime", "P", "evaluations",
                                          "bound_use (largest seen)", "again"},
                                         5));
  for (const auto& [key, row] : run.results.hunts) {
    std::string line =
        table_row({key.kernel, key.exponent, key.types(), key.arch, key.lse_regime, std::to_string(key.num_partitions),
                   format_count(row.evaluations), format_hunted(row)});
    line.insert(line.size() - 1, " " + inline_code(hunt_line(run.context, key)) + " |");
    text.add(line);
  }
}

std::string mutants_line(const MutantsReport& mutants) {
  std::string line = "Mutants: " + mutant_score(mutants);
  std::string separator = "; not killed: ";
  for (const MutantResult& result : mutants.mutants) {
    if (result.outcome == MutantOutcome::killed) continue;
    line += separator + escaped(result.patch.name);
    separator = ", ";
  }
  return line;
}

std::vector<std::string> accuracy_cells(const AccuracyLine& line, bool with_place) {
  std::vector<std::string> cells{line.key.kernel, line.key.variant, line.key.types(), line.key.unit};
  if (!line.key.lse_regime.empty()) cells.push_back(line.key.lse_regime);
  for (const std::uint64_t count : {line.cases, line.row_heads, line.elements}) cells.push_back(format_count(count));
  cells.push_back(format_percent(line.correctly_rounded, line.elements));
  for (const Metric metric : kAllMetrics) {
    const MetricSummary& summary = line.metric(metric);
    std::string cell = format_metric(metric, summary.stats.max);
    if (with_place && summary.stats.max.value >= 0) cell += " at " + format_place(summary);
    cells.push_back(cell);
  }
  return cells;
}

void add_accuracy(const std::vector<AccuracyLine>& lines, bool by_regime, CappedText& text) {
  std::vector<std::string> head{"kernel", "variant", "types", "unit"};
  if (by_regime) head.emplace_back("LSE regime");
  for (const char* name : {"cases", "row-heads", "elements", "% correctly rounded"}) head.emplace_back(name);
  for (const Metric metric : kAllMetrics) head.push_back(std::string(name_of(metric)) + " (largest seen)");
  text.add(fmt::format("\n## {}\n\n{}", by_regime ? "Accuracy by LSE regime" : "Accuracy",
                       table_head(head, by_regime ? 5 : 4)));
  for (const AccuracyLine& line : lines) text.add(table_row(accuracy_cells(line, !by_regime)));
}

void add_laws(const RunResults& results, CappedText& text) {
  text.add("\n## Laws\n\n" + table_head({"kernel", "law", "checked", "n/a", "failed"}, 2));
  for (const auto& [key, row] : results.laws) {
    text.add(table_row(
        {key.kernel, key.law, format_count(row.checked), format_count(row.not_applicable), format_count(row.failed)}));
  }
}

void add_worst_cases(const RunContext& context, const std::vector<AccuracyLine>& lines, CappedText& text) {
  text.add("\n## Worst cases (largest seen)\n");
  for (const AccuracyLine& line : lines) {
    for (const Metric metric : kAllMetrics) {
      const MetricSummary& summary = line.metric(metric);
      const Maximum& max = summary.stats.max;
      if (max.value < 0) continue;
      text.add(fmt::format(
          "\n{} {} {}: {} {} at {} on {}, case {}, row-head {}, depth {}, got {}, correctly rounded {}\n\n{}",
          escaped(line.key.kernel), escaped(line.key.variant), escaped(line.key.types()), escaped(name_of(metric)),
          format_metric(metric, max), escaped(format_place(summary)), escaped(summary.place.arch), max.case_index,
          max.row_head, max.depth_index, format_bits(line.key.out, max.got_bits),
          format_bits(line.key.out, max.correctly_rounded_bits), code_block(repro_line(context, max.token))));
    }
  }
}

}  // namespace

std::string markdown_report(const StoredRun& run, const std::vector<std::string>& not_covered,
                            const std::vector<Night>& nights, const std::optional<MutantsReport>& mutants,
                            std::size_t limit) {
  const AccuracyTable table = accuracy_table(run.results);
  CappedText text(limit);
  text.add(fmt::format("# {}\n\n{}\n", verdict_word(run), escaped(verdict_basis(run))));
  text.add("\n" + escaped(context_line(run.context)) + "\n");
  if (const std::string remark = unit_remark(run.context); !remark.empty()) text.add("\n" + remark + "\n");
  if (mutants) text.add("\n" + mutants_line(*mutants) + "\n");
  add_nights(nights, text);
  add_failures(run, text);
  add_replays(run, text);
  add_accuracy(table.lines, false, text);
  add_laws(run.results, text);
  if (!not_covered.empty()) {
    text.add("\n## Not covered\n\n");
    for (const std::string& name : not_covered) text.add("* " + escaped(name) + "\n");
  }
  add_worst_cases(run.context, table.lines, text);
  add_accuracy(table.regimes, true, text);
  add_hunts(run, text);
  return text.str();
}

}  // namespace lsecheck
