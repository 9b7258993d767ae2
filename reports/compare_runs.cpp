#include "reports/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "reports/accuracy_table.h"
#include "reports/context_fields.h"
#include "reports/run_summary.h"
#include "reports/text_table.h"

namespace lsecheck {
namespace {

// Calls take(key, old row or nullptr, new row or nullptr) for every key of the two maps, in order.
template <typename Map, typename Take>
void pair_up(const Map& old_rows, const Map& new_rows, Take take) {
  auto one = old_rows.begin();
  auto other = new_rows.begin();
  while (one != old_rows.end() || other != new_rows.end()) {
    const bool has_old = one != old_rows.end() && (other == new_rows.end() || !(other->first < one->first));
    const bool has_new = other != new_rows.end() && (one == old_rows.end() || !(one->first < other->first));
    const auto& key = has_old ? one->first : other->first;
    take(key, has_old ? &one->second : nullptr, has_new ? &other->second : nullptr);
    if (has_old) ++one;
    if (has_new) ++other;
  }
}

LineVerdict verdict_of(bool any_up, bool any_down) {
  if (any_up) return LineVerdict::worse;
  return any_down ? LineVerdict::better : LineVerdict::same;
}

AccuracyComparison compare(const AccuracyKey& key, const BaselineAccuracy* old_row, const BaselineAccuracy* new_row) {
  AccuracyComparison line;
  line.key = key;
  if (old_row != nullptr) line.old_row = *old_row;
  if (new_row != nullptr) line.new_row = *new_row;
  if (old_row == nullptr || new_row == nullptr) {
    line.verdict = old_row == nullptr ? LineVerdict::appeared : LineVerdict::gone;
    return line;
  }
  const auto up = [](const WorstSeen& before, const WorstSeen& after) { return after.value > before.value; };
  line.verdict = verdict_of(up(old_row->bound_use, new_row->bound_use) || up(old_row->scaled_ulp, new_row->scaled_ulp),
                            up(new_row->bound_use, old_row->bound_use) || up(new_row->scaled_ulp, old_row->scaled_ulp));
  line.bits_changed = !(*old_row == *new_row);
  return line;
}

LawComparison compare(const LawKey& key, const BaselineLaw* old_row, const BaselineLaw* new_row) {
  LawComparison line;
  line.key = key;
  if (old_row != nullptr) line.old_row = *old_row;
  if (new_row != nullptr) line.new_row = *new_row;
  if (old_row == nullptr || new_row == nullptr) {
    // A law that arrives failing must not hide behind being new.
    const bool arrives_failing = new_row != nullptr && new_row->failed > 0;
    line.verdict = arrives_failing      ? LineVerdict::worse
                   : old_row == nullptr ? LineVerdict::appeared
                                        : LineVerdict::gone;
    return line;
  }
  line.verdict = verdict_of(new_row->failed > old_row->failed, new_row->failed < old_row->failed);
  return line;
}

HuntComparison compare(const HuntKey& key, const HuntStat& old_row, const HuntStat& new_row) {
  const LineVerdict verdict = verdict_of(new_row.bound_use > old_row.bound_use, new_row.bound_use < old_row.bound_use);
  return {key, verdict, old_row.worst != new_row.worst, old_row, new_row};
}

// What a hunt follows from, besides its target and the kernel. A row's own evaluations do not count: a hunt ends where
// it leaves the bound.
bool decides_hunts(std::string_view field) {
  return field == "generator_version" || field == "sfu_table_digest" || field == "seed" || field == "hunt_evaluations";
}

std::map<std::string, std::string> search_of(const RunContext& context) {
  std::map<std::string, std::string> search;
  visit_context_fields(context, [&](const char* name, const auto& value) {
    if (decides_hunts(name)) search[name] = fmt::format("{}", value);
  });
  return search;
}

// "seed 1 -> 3" for every entry that differs.
std::vector<std::string> differences(const std::map<std::string, std::string>& old_entries,
                                     const std::map<std::string, std::string>& new_entries) {
  std::vector<std::string> lines;
  pair_up(old_entries, new_entries, [&](const auto& name, const auto* one, const auto* other) {
    if (one != nullptr && other != nullptr && *one == *other) return;
    lines.push_back(
        fmt::format("{} {} -> {}", name, one == nullptr ? "unset" : *one, other == nullptr ? "unset" : *other));
  });
  return lines;
}

HuntsComparison compare_hunts(const StoredRun& old_run, const StoredRun& new_run) {
  HuntsComparison hunts;
  hunts.old_context = old_run.context;
  hunts.new_context = new_run.context;
  hunts.other_search = differences(search_of(old_run.context), search_of(new_run.context));
  pair_up(old_run.results.hunts, new_run.results.hunts,
          [&](const HuntKey& key, const HuntStat* old_row, const HuntStat* new_row) {
            if (old_row != nullptr && new_row != nullptr) {
              hunts.lines.push_back(compare(key, *old_row, *new_row));
            } else {
              ++(old_row != nullptr ? hunts.only_old : hunts.only_new);
            }
          });
  return hunts;
}

std::string value_text(const WorstSeen& worst) {
  return worst.value < 0 ? "-" : format_value(worst.value);
}

std::string change_text(const WorstSeen& before, const WorstSeen& after) {
  return before == after ? value_text(after) : value_text(before) + " -> " + value_text(after);
}

bool is_shown(const AccuracyComparison& line) {
  return line.verdict != LineVerdict::same || line.bits_changed;
}

std::string accuracy_text(const std::vector<AccuracyComparison>& lines) {
  if (std::none_of(lines.begin(), lines.end(), is_shown)) return "";
  TextTable table({"verdict", "kernel", "variant", "types", "unit", "LSE regime", "bits", "bound_use", "scaled_ulp"},
                  7);
  std::string replays;
  for (const AccuracyComparison& line : lines) {
    if (!is_shown(line)) continue;
    table.add({name_of(line.verdict), line.key.kernel, line.key.variant, line.key.types(), line.key.unit,
               line.key.lse_regime, line.bits_changed ? "changed" : "",
               change_text(line.old_row.bound_use, line.new_row.bound_use),
               change_text(line.old_row.scaled_ulp, line.new_row.scaled_ulp)});
    if (line.verdict != LineVerdict::worse) continue;
    const bool by_bound = line.new_row.bound_use.value > line.old_row.bound_use.value;
    const WorstSeen& before = by_bound ? line.old_row.bound_use : line.old_row.scaled_ulp;
    const WorstSeen& after = by_bound ? line.new_row.bound_use : line.new_row.scaled_ulp;
    replays += fmt::format(
        "{} {} {} {}: largest {}\n  old {}: {}\n  new {}: lsecheck repro {}\n", line.key.kernel, line.key.variant,
        line.key.types(), line.key.lse_regime, by_bound ? "bound_use" : "scaled_ulp", value_text(before),
        before.value < 0 ? "nothing seen" : "lsecheck repro " + before.token, value_text(after), after.token);
  }
  return "\n" + table.str() + (replays.empty() ? "" : "\nworst cases of what is WORSE\n" + replays);
}

std::string law_text(const std::vector<LawComparison>& lines) {
  TextTable table({"verdict", "kernel", "law", "failed", "checked"}, 3);
  bool any = false;
  for (const LawComparison& line : lines) {
    if (line.verdict == LineVerdict::same) continue;
    any = true;
    table.add({name_of(line.verdict), line.key.kernel, line.key.law,
               fmt::format("{} -> {}", line.old_row.failed, line.new_row.failed),
               fmt::format("{} -> {}", line.old_row.checked, line.new_row.checked)});
  }
  return any ? "\nlaws\n" + table.str() : "";
}

bool hunt_is_shown(const HuntComparison& line) {
  return line.verdict != LineVerdict::same || line.find_changed;
}

std::string hunt_lines_text(const HuntsComparison& hunts) {
  if (!hunts.changed()) return "";
  TextTable table({"verdict", "kernel", "exponent", "types", "arch", "LSE regime", "P", "find", "bound_use"}, 6);
  std::string again;
  for (const HuntComparison& line : hunts.lines) {
    if (!hunt_is_shown(line)) continue;
    const std::string before = format_hunted(line.old_row);
    const std::string after = format_hunted(line.new_row);
    table.add({name_of(line.verdict), line.key.kernel, line.key.exponent, line.key.types(), line.key.arch,
               line.key.lse_regime, std::to_string(line.key.num_partitions), line.find_changed ? "changed" : "",
               before == after ? after : fmt::format("{} -> {}", before, after)});
    if (line.verdict != LineVerdict::worse) continue;
    again += fmt::format("{}: largest bound_use\n  old {}: {}\n  new {}: {}\n", hunt_name(line.key), before,
                         hunt_line(hunts.old_context, line.key), after, hunt_line(hunts.new_context, line.key));
  }
  return table.str() + (again.empty() ? "" : "\nhunts of what is WORSE\n" + again);
}

std::string hunts_text(const HuntsComparison& hunts) {
  if (hunts.lines.empty() && hunts.only_old == 0 && hunts.only_new == 0) return "";
  std::string text =
      fmt::format("\nhunts: {} targets in both runs, {} in the old run alone, {} in the new run alone\n",
                  format_count(hunts.lines.size()), format_count(hunts.only_old), format_count(hunts.only_new));
  if (hunts.lines.empty()) return text;
  if (!hunts.other_search.empty()) {
    text += "The hunts searched elsewhere, so a largest value may move without the kernel:\n";
    for (const std::string& line : hunts.other_search) text += "  " + line + "\n";
  } else if (hunts.changed()) {
    text += "The hunts searched alike: what moved is the kernels'.\n";
  } else {
    text += "Same hunts, same finds.\n";
  }
  return text + hunt_lines_text(hunts);
}

bool lines_changed(const Comparison& comparison) {
  const auto moved = [](const auto& line) { return line.verdict != LineVerdict::same; };
  return std::any_of(comparison.accuracy.begin(), comparison.accuracy.end(), is_shown) ||
         std::any_of(comparison.laws.begin(), comparison.laws.end(), moved);
}

}  // namespace

const char* name_of(LineVerdict verdict) {
  switch (verdict) {
    case LineVerdict::better:
      return "BETTER";
    case LineVerdict::same:
      return "SAME";
    case LineVerdict::worse:
      return "WORSE";
    case LineVerdict::appeared:
      return "NEW";
    case LineVerdict::gone:
      break;
  }
  return "GONE";
}

bool HuntsComparison::changed() const {
  return std::any_of(lines.begin(), lines.end(), hunt_is_shown);
}

std::uint64_t Comparison::count(LineVerdict verdict) const {
  const auto has = [&](const auto& line) { return line.verdict == verdict; };
  return static_cast<std::uint64_t>(std::count_if(accuracy.begin(), accuracy.end(), has) +
                                    std::count_if(laws.begin(), laws.end(), has) +
                                    std::count_if(hunts.lines.begin(), hunts.lines.end(), has));
}

bool Comparison::worse() const {
  return count(LineVerdict::worse) > 0;
}

bool Comparison::changed() const {
  return lines_changed(*this) || hunts.changed();
}

Comparison compare_runs(const Baseline& old_run, const Baseline& new_run) {
  Comparison comparison;
  pair_up(old_run.accuracy, new_run.accuracy, [&](const auto& key, const auto* old_row, const auto* new_row) {
    comparison.accuracy.push_back(compare(key, old_row, new_row));
  });
  pair_up(old_run.laws, new_run.laws, [&](const auto& key, const auto* old_row, const auto* new_row) {
    comparison.laws.push_back(compare(key, old_row, new_row));
  });
  comparison.other_cases = differences(old_run.cases, new_run.cases);
  return comparison;
}

Comparison compare_runs(const StoredRun& old_run, const StoredRun& new_run) {
  Comparison comparison = compare_runs(baseline_of(old_run), baseline_of(new_run));
  comparison.hunts = compare_hunts(old_run, new_run);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  for (const LineVerdict verdict :
       {LineVerdict::worse, LineVerdict::better, LineVerdict::same, LineVerdict::appeared, LineVerdict::gone}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(verdict), format_count(comparison.count(verdict)));
  }
  text += "\n";
  if (!comparison.other_cases.empty()) {
    text += "The runs hold other cases, so a largest value may move without the kernel:\n";
    for (const std::string& line : comparison.other_cases) text += "  " + line + "\n";
  } else if (lines_changed(comparison)) {
    text += "The runs hold the same cases: what moved is the kernels' (or the laws').\n";
  } else {
    text += "Same cases, same output bits.\n";
  }
  return printable(text + accuracy_text(comparison.accuracy) + law_text(comparison.laws) +
                   hunts_text(comparison.hunts));
}

}  // namespace lsecheck
