#include "reports/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/accuracy_table.h"

namespace lsecheck {
namespace {

// The law rows, the totals and the list each know about failures; the largest of the three numbers is believed.
// Waived ones do not count, but every waiver that is out of date does.
std::uint64_t failure_count(const StoredRun& run) {
  const RunResults& results = run.results;
  std::uint64_t by_law = 0;
  for (const auto& [key, row] : results.laws) by_law += row.failed;
  const std::uint64_t failures =
      std::max({by_law, results.totals.failures, static_cast<std::uint64_t>(results.failures.size())});
  return failures - run.waivers.waived_failures() + failing_replays(results).size() + run.waivers.problems.size();
}

std::uint64_t checks(const RunResults& results) {
  std::uint64_t checked = 0;
  for (const auto& [key, row] : results.laws) checked += row.checked;
  return checked;
}

std::string hunts_basis(const std::map<HuntKey, HuntStat>& hunts) {
  const auto worst = std::max_element(hunts.begin(), hunts.end(), [](const auto& one, const auto& other) {
    return one.second.bound_use < other.second.bound_use;
  });
  return fmt::format("{} targets hunted, largest bound_use {} ({})", format_count(hunts.size()),
                     format_hunted(worst->second), worst->first.kernel);
}

// Quoted where a shell would see more than one plain word.
std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

bool counts_as_failure(const Replay& replay) {
  return replay.outcome == "fails" || replay.outcome == "unreadable";
}

std::vector<const Replay*> failing_replays(const RunResults& results) {
  std::vector<const Replay*> failing;
  for (const auto& [file, replay] : results.replays) {
    if (counts_as_failure(replay)) failing.push_back(&replay);
  }
  return failing;
}

std::string replay_line(const Replay& replay) {
  return fmt::format("{}: {}, {}: {}: {}", replay.file, replay.kernel, replay.law, replay.outcome,
                     replay.message.substr(0, replay.message.find('\n')));
}

std::vector<std::string> replay_details(const Replay& replay) {
  std::vector<std::string> lines = split_lines(replay.message);
  if (!lines.empty()) lines.erase(lines.begin());
  return lines;
}

std::string replay_repro_line(const RunContext& context, const Replay& replay) {
  return replay.case_file.empty() ? "" : repro_line(context, replay.case_file);
}

std::vector<ReplayGroup> replay_groups(const RunResults& results) {
  ReplayGroup old_failures{"old failures", "old failures that are not mended", {}, {}};
  ReplayGroup inputs{"corpus inputs", "corpus inputs that fail", {}, {}};
  for (const auto& [file, replay] : results.replays) {
    ReplayGroup& group = replay.origin == kCorpusInput ? inputs : old_failures;
    group.replays.push_back(&replay);
    if (counts_as_failure(replay)) group.failing.push_back(&replay);
  }
  std::vector<ReplayGroup> groups;
  for (ReplayGroup* group : {&old_failures, &inputs}) {
    if (!group->replays.empty()) groups.push_back(std::move(*group));
  }
  return groups;
}

Verdict verdict_of(const StoredRun& run) {
  if (failure_count(run) > 0) return Verdict::failed;
  return checks(run.results) == 0 ? Verdict::nothing_checked : Verdict::clean;
}

std::string verdict_word(const StoredRun& run) {
  switch (verdict_of(run)) {
    case Verdict::clean:
      return run.finished ? "CLEAN" : "CLEAN SO FAR";
    case Verdict::failed:
      return "FAILED " + format_count(failure_count(run));
    case Verdict::nothing_checked:
      break;
  }
  return "NOTHING CHECKED";
}

std::string verdict_basis(const StoredRun& run) {
  const RunTotals& totals = run.results.totals;
  std::string basis =
      fmt::format("{} cases, {} row-heads, {} output elements, {} law checks", format_count(totals.cases),
                  format_count(totals.row_heads), format_count(totals.elements), format_count(checks(run.results)));
  for (const ReplayGroup& group : replay_groups(run.results)) {
    basis += fmt::format("; {} {} replayed, {} of them failing", format_count(group.replays.size()), group.name,
                         format_count(group.failing.size()));
  }
  if (!run.results.hunts.empty()) basis += "; " + hunts_basis(run.results.hunts);
  if (const std::uint64_t waived = run.waivers.waived_failures(); waived > 0) {
    basis += fmt::format("; {} failures waived", format_count(waived));
  }
  if (!run.finished) basis += fmt::format("; UNFINISHED, next case {}", run.next_case_index);
  return basis;
}

std::string context_line(const RunContext& c) {
  return fmt::format(
      "lsecheck {} ({}), generator {}, profile {}, seed {}, backend {}, arch {}, unit {}, schedule {}, reference {}, "
      "kernels {}, laws {}{}",
      c.version, c.commit, c.generator_version, c.profile, c.seed, c.backend, c.arch, c.unit, c.schedule, c.reference,
      c.kernel_glob, c.law_glob, c.shard == "1/1" ? "" : ", shard " + c.shard);
}

std::string unit_remark(const RunContext& context) {
  if (context.backend != "cpu" || context.unit != "h200" || context.arch == "sm_90") return "";
  return "The special-function unit h200 was measured on sm_90; that sm_100a and sm_103a share it is an assumption.";
}

std::vector<std::string> next_steps(const StoredRun& run, const std::vector<std::string>& not_covered) {
  std::vector<std::string> steps;
  const RunResults& results = run.results;
  if (results.failures.size() > run.waivers.waived_failures()) {
    steps.push_back("Replay the first failure:");
    steps.push_back("  " + repro_line(run.context, results.failures.front().token));
  }
  for (const ReplayGroup& group : replay_groups(results)) {
    const auto first = std::find_if(group.failing.begin(), group.failing.end(),
                                    [](const Replay* replay) { return !replay->case_file.empty(); });
    if (first == group.failing.end()) continue;
    steps.push_back(fmt::format("Look at the first of the {} again:", group.heading));
    steps.push_back("  " + replay_repro_line(run.context, **first));
  }
  if (!run.waivers.problems.empty()) steps.push_back("Bring the waivers up to date:");
  for (const std::string& problem : run.waivers.problems) steps.push_back("  " + problem);
  if (!run.finished)
    steps.push_back("The run has not come to its end. It goes on from its store (--db) with --resume.");
  if (!not_covered.empty())
    steps.push_back("Reach the classes not covered: raise --cases or choose a larger --profile.");
  if (steps.empty() && verdict_of(run) == Verdict::nothing_checked) {
    steps.push_back("Choose kernels and laws that match something: lsecheck list.");
  }
  if (steps.empty()) steps.push_back("Nothing to repair. Look further with another --seed or more --cases.");
  return steps;
}

std::string repro_line(const RunContext& context, const std::string& token_or_file) {
  std::string backend = context.backend == "cuda" ? "--backend cuda " : "";
  if (context.backend.starts_with(kPluginBackend)) {
    backend = "--plugin " + shell_word(context.backend.substr(kPluginBackend.size())) + " ";
  }
  return "lsecheck repro " + backend + shell_word(token_or_file);
}

std::string hunt_name(const HuntKey& key) {
  return fmt::format("{} {} {} {} {} P={}", key.kernel, key.exponent, key.types(), key.arch, key.lse_regime,
                     key.num_partitions);
}

bool counts_as_failure(const HuntStat& row) {
  return std::isinf(row.bound_use);
}

std::string hunt_line(const HuntKey& key, std::string_view metric, std::uint64_t evaluations, std::uint64_t seed) {
  return fmt::format(
      "lsecheck hunt --kernel {} --arch {} --out {} --partial {} --metric {} --regime {} --partitions {} "
      "--evaluations {} --seed {} --into hunted",
      shell_word(key.kernel), shell_word(key.arch), shell_word(key.out), shell_word(key.partial), metric,
      shell_word(key.lse_regime), key.num_partitions, evaluations, seed);
}

std::string hunt_line(const RunContext& context, const HuntKey& key) {
  return hunt_line(key, "bound_use", context.hunt_evaluations, context.seed);
}

std::string format_hunted(const HuntStat& row) {
  if (row.bound_use < 0) return "-";
  return std::isinf(row.bound_use) ? "outside" : format_value(row.bound_use);
}

std::string printable(const std::string& text) {
  std::string clean = text;
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) c = '?';
  }
  return clean;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace lsecheck
