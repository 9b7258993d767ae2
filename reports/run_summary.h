#pragma once

#include <string>
#include <vector>

#include "reports/stored_run.h"

// The sentences every renderer needs, in one wording.
namespace lsecheck {

enum class Verdict { clean, failed, nothing_checked };

Verdict verdict_of(const StoredRun& run);

// An old failure that still fails, or that cannot be replayed: nobody knows that it is mended.
bool counts_as_failure(const Replay& replay);
// Those of a run, as "FILE: kernel, law: fails: message".
std::vector<std::string> replay_lines(const RunResults& results);

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

// "lsecheck repro lse1-...", with --backend cuda where the run was on a GPU: a line for a POSIX shell, quoted where
// needed.
std::string repro_line(const RunContext& context, const std::string& token_or_file);

// Without control characters (line feeds stay): text of a foreign file must not drive the terminal.
std::string printable(const std::string& text);
std::vector<std::string> split_lines(const std::string& text);

}  // namespace lsecheck
