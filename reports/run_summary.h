#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/stored_run.h"

// The sentences every renderer needs, in one wording.
namespace lsecheck {

enum class Verdict { clean, failed, nothing_checked };

Verdict verdict_of(const StoredRun& run);

// A kept case that fails, or that cannot be replayed: nobody knows that it is mended.
bool counts_as_failure(const Replay& replay);
std::vector<const Replay*> failing_replays(const RunResults& results);
// "FILE: kernel, law: fails: what was seen", with the first line of its message, and the further lines; often none.
std::string replay_line(const Replay& replay);
std::vector<std::string> replay_details(const Replay& replay);
// The line that looks at it again; empty: there is no file that `lsecheck repro` takes.
std::string replay_repro_line(const RunContext& context, const Replay& replay);

// The replays of one origin.
struct ReplayGroup {
  std::string name;                    // "old failures", "corpus inputs"
  std::string heading;                 // of those that count as failures
  std::vector<const Replay*> replays;  // by file, never empty
  std::vector<const Replay*> failing;
};
// Old failures first; those without replays are left out.
std::vector<ReplayGroup> replay_groups(const RunResults& results);

// "CLEAN", "CLEAN SO FAR" (unfinished), "FAILED 3" or "NOTHING CHECKED".
std::string verdict_word(const StoredRun& run);
// What the word rests on: counts, and whether the run came to its end.
std::string verdict_basis(const StoredRun& run);
// Build and options, as "name value" pairs.
std::string context_line(const RunContext& context);
// Empty, or what the special-function unit of this run means for the chips it does not stem from.
std::string unit_remark(const RunContext& context);
// What the reader should do now, one step a line.
std::vector<std::string> next_steps(const StoredRun& run, const std::vector<std::string>& not_covered);

// "lsecheck repro lse1-...", with --backend cuda where the run was on a GPU and --plugin where it was of one: a line
// for a POSIX shell, quoted where needed.
std::string repro_line(const RunContext& context, const std::string& token_or_file);

// "fa4_splitk_combine log2 f32<-f32 sm_100a narrow P=2".
std::string hunt_name(const HuntKey& key);
// Outside the bound, or the kernel fell over: a failure of law accuracy stands beside it.
bool counts_as_failure(const HuntStat& row);
// The line that runs the hunt of a target again, with the same outcome: `lsecheck hunt --kernel ...`.
std::string hunt_line(const RunContext& context, const HuntKey& key);
// The same for any metric.
std::string hunt_line(const HuntKey& key, std::string_view metric, std::uint64_t evaluations, std::uint64_t seed);
// "0.8916", "outside" the bound, or "-" where nothing was graded.
std::string format_hunted(const HuntStat& row);

// Without control characters (line feeds stay): text of a foreign file must not drive the terminal.
std::string printable(const std::string& text);
std::string capitalised(std::string text);
std::vector<std::string> split_lines(const std::string& text);

}  // namespace lsecheck
