#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lsecheck {

// Writes a whole file or nothing: a temporary file in the same directory, flushed to the disk, then renamed over path.
// A path that exists and is no regular file (/dev/stdout, a pipe) is written to directly. Throws StoreError
// (environment).
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The whole content of a regular file. Throws StoreError (unreadable).
std::string read_whole_file(const std::filesystem::path& path);

// "No space left on device; free some space or choose another path": an errno and what to do about it.
std::string describe_errno(int error);

}  // namespace lsecheck
