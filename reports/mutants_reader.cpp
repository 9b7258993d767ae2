#include <array>

#include "properties/whole_file.h"
#include "reports/mutants_report.h"
#include "reports/strict_json.h"

namespace lsecheck {

// static and in no unnamed namespace: JsonMembers::take() finds them by the namespace of their arguments.
static void read(const Json& json, const JsonPlace& place, MutantOutcome& outcome) {
  std::string word;
  read(json, place, word);
  for (const MutantOutcome known : {MutantOutcome::killed, MutantOutcome::survived, MutantOutcome::would_not_build,
                                    MutantOutcome::does_not_apply}) {
    if (word != outcome_word(known)) continue;
    outcome = known;
    return;
  }
  place.refuse("is no outcome of a mutant");
}

static void read(const Json& json, const JsonPlace& place, std::array<std::uint64_t, kDetectorCount>& counts) {
  JsonMembers members(json, place);
  for (std::size_t i = 0; i < kDetectorCount; ++i) members.take(std::string(kDetectorNames[i]), counts[i]);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, MutantResult& result) {
  JsonMembers members(json, place);
  members.take("name", result.patch.name);
  members.take("class_number", result.patch.class_number);
  members.take("class", result.patch.bug_class);
  members.take("trigger", result.patch.trigger);
  members.take("seen", result.patch.seen);
  members.take("outcome", result.outcome);
  members.take("killed_by", result.killed_by);
  members.take("token", result.token);
  members.take("cases", result.cases);
  members.take("cases_run", result.cases_run);
  members.take("seconds", result.seconds);
  members.take("build_seconds", result.build_seconds);
  members.take("flagged", result.flagged);
  members.take("detail", result.detail);
  members.require_all_taken();
}

MutantsReport parse_mutants(std::string_view text, const std::string& source) {
  const JsonPlace root{source, "give a file that lsecheck mutants wrote with --json", ""};
  const Json json = parse_without_repetition(text, root);
  JsonMembers members(json, root);
  std::string schema;
  members.take("schema", schema);
  if (schema != kMutantsSchema) {
    root.refuse("has schema \"" + schema + "\", this lsecheck reads \"" + kMutantsSchema + "\"");
  }
  MutantsReport report;
  members.take("profile", report.profile);
  members.take("cases", report.cases);
  members.take("false_alarms", report.false_alarms);
  const Json& mutants = require_array(members.take("mutants"), root.in("mutants"));
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    read(mutants[i], root.in("mutants").at(i), report.mutants.emplace_back());
  }
  members.require_all_taken();
  return report;
}

MutantsReport read_mutants(const std::string& path) {
  return parse_mutants(read_whole_text(path), path);
}

}  // namespace lsecheck
