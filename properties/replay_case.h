#pragma once

#include <string>
#include <vector>

#include "properties/results.h"
#include "reference/grade.h"

// Old failures, run again from the case files that earlier runs left.
namespace lsecheck {

// Every *.safetensors file of the folder, ordered by name. Throws std::invalid_argument when there is no such folder.
std::vector<std::string> case_files_in(const std::string& folder);

// Holds the case of the file to its law, on the backend in use. Whatever is wrong with the file becomes the outcome
// "unreadable"; a case that the device in use cannot take is "not applicable". memory_limit is in bytes.
Replay replay_case_file(const std::string& path, std::uint64_t memory_limit, Reference& reference);

}  // namespace lsecheck
