#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/detectors.h"
#include "properties/mutant_patch.h"

// What became of planted bugs.
namespace lsecheck {

enum class MutantOutcome : std::uint8_t { killed, survived, would_not_build, does_not_apply };

struct MutantResult {
  MutantPatch patch;
  MutantOutcome outcome = MutantOutcome::survived;
  std::string killed_by;  // the first law that failed, or how the program ended
  std::string token;      // that replays it in the mutated program; empty where there is none
  // Up to the first that failed; all that were run where a law of the whole run found it.
  std::uint64_t cases = 0;
  std::uint64_t cases_run = 0;  // up to the end of the batch of 64 in which one failed
  double build_seconds = 0;
  double seconds = 0;  // of the runs with the mutant
  // Of the first cases of the profile, those that a detector flags and that it lets pass without the mutant.
  std::array<std::uint64_t, kDetectorCount> flagged{};
  std::string detail;  // of an outcome other than killed: where to look
};

struct MutantsReport {
  std::string profile;
  std::uint64_t cases = 0;  // that the detectors look at, where no law stops the run before
  // Without a mutant: false alarms.
  std::array<std::uint64_t, kDetectorCount> false_alarms{};
  std::vector<MutantResult> mutants;

  std::uint64_t count(MutantOutcome outcome) const;
};

// How the tables of the mutants head the columns of the detectors, in their order.
inline constexpr std::array<const char*, kDetectorCount> kDetectorHeadings{"bf16 default", "f32 default", "1e-2",
                                                                           "1e-3", "2 x cast"};

std::string outcome_word(MutantOutcome outcome);
// "3 a name"; the name alone where the class has no number.
std::string class_text(const MutantPatch& patch);
// One line, as the terminal shows it when it is known.
std::string mutant_line(const MutantResult& result);
std::string mutants_markdown(const MutantsReport& report);
// "125 of 125 planted bugs killed"; what was not tried (a patch that does not apply or build) is named behind it.
std::string mutant_score(const MutantsReport& report);
inline constexpr const char* kMutantsSchema = "lsecheck.mutants/1";

// Of that schema.
std::string mutants_json(const MutantsReport& report);
// The inverse; the paths of the patches are not in it. Strict as parse_results: StoreError (unreadable) names `source`
// and the member.
MutantsReport parse_mutants(std::string_view text, const std::string& source);
// Of a file. Throws FileError or StoreError.
MutantsReport read_mutants(const std::string& path);

}  // namespace lsecheck
