#include "reports/mutants_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lsecheck {

namespace {

std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '|', '/');
  return text.empty() ? "-" : text;
}

std::string table_row(const MutantsReport& report, const MutantResult& result) {
  std::string row = fmt::format("| {} | {} | {} |", cell(result.patch.name), cell(class_text(result.patch)),
                                outcome_word(result.outcome));
  const bool ran = result.outcome == MutantOutcome::killed || result.outcome == MutantOutcome::survived;
  if (!ran) return row + fmt::format(" {} | | | | | | | |\n", cell(result.detail));
  row += fmt::format(" {} | {} | {:.1f} |", cell(result.killed_by), result.cases, result.seconds);
  for (const std::uint64_t flagged : result.flagged) {
    row += flagged == 0 ? " missed |" : fmt::format(" {} of {} |", flagged, std::min(result.cases_run, report.cases));
  }
  return row + "\n";
}

}  // namespace

std::uint64_t MutantsReport::count(MutantOutcome outcome) const {
  return static_cast<std::uint64_t>(std::count_if(
      mutants.begin(), mutants.end(), [&](const MutantResult& result) { return result.outcome == outcome; }));
}

std::string outcome_word(MutantOutcome outcome) {
  switch (outcome) {
    case MutantOutcome::killed:
      return "killed";
    case MutantOutcome::survived:
      return "SURVIVED";
    case MutantOutcome::would_not_build:
      return "WOULD NOT BUILD";
    case MutantOutcome::does_not_apply:
      break;
  }
  return "DOES NOT APPLY";
}

std::string class_text(const MutantPatch& patch) {
  return patch.class_number == 0 ? patch.bug_class : fmt::format("{} {}", patch.class_number, patch.bug_class);
}

std::string mutant_line(const MutantResult& result) {
  const std::string word = outcome_word(result.outcome);
  if (result.outcome == MutantOutcome::killed) {
    return fmt::format("{:<15} {:<48} by {} after {} cases, {:.1f} s (build {:.1f} s)\n", word, result.patch.name,
                       result.killed_by, result.cases, result.seconds, result.build_seconds);
  }
  return fmt::format("{:<15} {:<48} {}\n", word, result.patch.name, result.detail);
}

std::string mutant_score(const MutantsReport& report) {
  std::string score =
      fmt::format("{} of {} planted bugs killed", report.count(MutantOutcome::killed), report.mutants.size());
  for (const MutantOutcome outcome : {MutantOutcome::would_not_build, MutantOutcome::does_not_apply}) {
    if (const std::uint64_t count = report.count(outcome); count > 0) {
      score += fmt::format("; {} {}", count, outcome_word(outcome));
    }
  }
  return score;
}

std::string mutants_markdown(const MutantsReport& report) {
  std::string text = fmt::format(
      "{} mutants: {} killed, {} survived, {} would not build, {} do not apply. Profile {}.\n\n"
      "Cases: up to the first that failed, or all that were run where a law of the whole run found the mutant. "
      "Detectors: of the cases run, at most the first {}, those that the check flags with the mutant and lets pass "
      "without it; a kernel that the executor stops leaves it nothing to look at.\n\n",
      report.mutants.size(), report.count(MutantOutcome::killed), report.count(MutantOutcome::survived),
      report.count(MutantOutcome::would_not_build), report.count(MutantOutcome::does_not_apply), report.profile,
      report.cases);
  text += "| mutant | class | outcome | first law | cases | s |";
  for (const char* heading : kDetectorHeadings) text += fmt::format(" {} |", heading);
  text += "\n| --- | --- | --- | --- | ---: | ---: |";
  for (std::size_t i = 0; i < kDetectorCount; ++i) text += " ---: |";
  text += "\n";
  for (const MutantResult& result : report.mutants) text += table_row(report, result);
  text += fmt::format("| none (false alarms) | | | | {} | |", report.cases);
  for (const std::uint64_t flagged : report.false_alarms) text += fmt::format(" {} |", flagged);
  return text + "\n";
}

std::string mutants_json(const MutantsReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = kMutantsSchema;
  json["profile"] = report.profile;
  json["cases"] = report.cases;
  const auto by_detector = [](const std::array<std::uint64_t, kDetectorCount>& counts) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < kDetectorCount; ++i) object[std::string(kDetectorNames[i])] = counts[i];
    return object;
  };
  json["false_alarms"] = by_detector(report.false_alarms);
  json["mutants"] = nlohmann::ordered_json::array();
  for (const MutantResult& result : report.mutants) {
    json["mutants"].push_back({{"name", result.patch.name},
                               {"class_number", result.patch.class_number},
                               {"class", result.patch.bug_class},
                               {"trigger", result.patch.trigger},
                               {"seen", result.patch.seen},
                               {"outcome", outcome_word(result.outcome)},
                               {"killed_by", result.killed_by},
                               {"token", result.token},
                               {"cases", result.cases},
                               {"cases_run", result.cases_run},
                               {"seconds", result.seconds},
                               {"build_seconds", result.build_seconds},
                               {"flagged", by_detector(result.flagged)},
                               {"detail", result.detail}});
  }
  return json.dump(1) + "\n";
}

}  // namespace lsecheck
