#pragma once

#include <array>
#include <cstdint>
#include <string>
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

std::string outcome_word(MutantOutcome outcome);
// One line, as the terminal shows it when it is known.
std::string mutant_line(const MutantResult& result);
std::string mutants_markdown(const MutantsReport& report);
// Schema "lsecheck.mutants/1".
std::string mutants_json(const MutantsReport& report);

}  // namespace lsecheck
