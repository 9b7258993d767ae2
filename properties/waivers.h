#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/results.h"

// Known failures that do not fail a run for a while. A text file, one a line, fields separated by blanks:
//
//   lsecheck waivers 1
//   # comment
//   KERNEL LAW REGIME UNTIL REASON...
//   fa4_splitk_combine accuracy large_magnitude 2027-01-31 issue 12: the last slot is summed twice
//
// REGIME is the LSE regime of the failing case as it was drawn; UNTIL is the last day on which the waiver holds.
namespace lsecheck {

struct Waiver {
  std::string place;  // "FILE line 3"
  std::string kernel;
  std::string law;
  std::string regime;
  std::string until;  // YYYY-MM-DD
  std::string reason;
};

inline constexpr std::string_view kWaiversHeader = "lsecheck waivers 1";

// Throws FileError (unreadable) naming the line: for an unknown kernel, law or regime, a day that no calendar has, a
// missing reason, or the same failure waived twice.
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& source);

// YYYY-MM-DD of a day that the calendar has. Such texts compare as their days do.
bool is_calendar_day(std::string_view text);

// The LSE regime of the case as it was drawn; empty where the failure does not tell.
std::string regime_of(const Failure& failure);

// Whether a waiver that holds on that day covers the failure.
bool is_waived(std::span<const Waiver> waivers, const Failure& failure, std::string_view today);

struct WaiverJudgement {
  std::map<LawKey, std::uint64_t> waived;  // failures covered by waivers that hold
  std::vector<std::string> problems;       // each fails the run: waivers that have expired, or whose failure is gone

  std::uint64_t waived_failures() const;
};

// A waiver's failure is gone when the run held the law against cases of the kernel and the regime and none failed;
// only a run that went through its whole sequence can tell, no shard and none that was stopped.
WaiverJudgement judge_waivers(std::span<const Waiver> waivers, const RunResults& results, std::string_view today,
                              bool whole_sequence);

}  // namespace lsecheck
