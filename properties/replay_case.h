#pragma once

#include <string>
#include <vector>

#include "properties/results.h"
#include "properties/worker_pool.h"
#include "reference/grade.h"

// Old failures, run again from the case files that earlier runs left.
namespace lsecheck {

// Every *.safetensors file of the folder, ordered by name. Throws std::invalid_argument when there is no such folder.
std::vector<std::string> case_files_in(const std::string& folder);

// Holds the case of the file to its law, on the backend in use. Whatever is wrong with the file becomes the outcome
// "unreadable"; a case that the device in use cannot take is "not applicable". memory_limit is in bytes.
Replay replay_case_file(const std::string& path, std::uint64_t memory_limit, Reference& reference);
std::vector<Replay> replay_case_files(const std::vector<std::string>& paths, std::uint64_t memory_limit,
                                      Reference& reference);
// The same in other processes: a case whose process dies "fails".
std::vector<Replay> replay_case_files_isolated(const std::vector<std::string>& paths, std::uint64_t memory_limit,
                                               Reference& reference, const WorkerLimits& limits, unsigned jobs);

}  // namespace lsecheck
