#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "properties/case_file.h"
#include "properties/laws.h"
#include "properties/results.h"
#include "properties/worker_pool.h"
#include "reference/grade.h"

// Cases that are kept in files, run again: old failures, and inputs that a fuzzer kept.
namespace lsecheck {

// Every file of the folder whose name has this extension (".safetensors"; empty: any), ordered by name. Throws
// std::invalid_argument when there is no such folder.
std::vector<std::string> files_in(const std::string& folder, const std::string& extension);

// What kept cases of a kind have in common.
struct ReplaySource {
  std::string origin;  // of Replay
  // nullopt: a case that is not for this run. Throws FileError where the file cannot be read.
  std::function<std::optional<CaseFile>(const std::string& path)> load;
  std::vector<const Law*> laws;  // that a case is held to which names none itself
  // Folder for the case of a file that fails and is no case file itself. The first four of each kernel are made small
  // (a shard counts its own); messages say what became of a case. Empty: every file is a case file, and stays as it is.
  std::string case_files;
  // A kernel that brings down so many processes is run no more.
  unsigned give_up = std::numeric_limits<unsigned>::max();
};

// The case files that earlier runs left, each held to its law, however many bring their process down. memory_limit is
// in bytes.
ReplaySource old_failures(std::uint64_t memory_limit);

// Holds the cases of the files to their laws, on the backend in use. Whatever is wrong with a file becomes the outcome
// "unreadable"; a case that the device in use cannot take is "not applicable".
std::vector<Replay> replay_case_files(const std::vector<std::string>& paths, const ReplaySource& source,
                                      Reference& reference);
// The same in other processes: a case whose process dies "fails".
std::vector<Replay> replay_case_files_isolated(const std::vector<std::string>& paths, const ReplaySource& source,
                                               Reference& reference, const WorkerLimits& limits, unsigned jobs);

}  // namespace lsecheck
