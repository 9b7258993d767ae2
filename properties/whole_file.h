#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Files as one block of bytes: read with a limit that is checked before anything is allocated, written so that a reader
// sees the old file or the new one and never a part.
namespace lsecheck {

enum class FileErrorKind : std::uint8_t {
  unreadable,   // the file is missing, larger than allowed, or not what it should be: exit code 2
  environment,  // the disk or the memory failed: exit code 4
};

// what() is one line that starts with the file's name.
class FileError : public std::runtime_error {
 public:
  FileError(FileErrorKind kind, const std::string& path, const std::string& reason)
      : std::runtime_error(path + ": " + reason), kind_(kind) {}

  FileErrorKind kind() const { return kind_; }
  int exit_code() const { return kind_ == FileErrorKind::unreadable ? 2 : 4; }

 private:
  FileErrorKind kind_;
};

// Throws FileError: unreadable when the file cannot be opened, is no regular file or holds more than max_bytes.
std::vector<std::byte> read_whole_file(const std::string& path, std::uint64_t max_bytes);
// The same as text, of any size that memory holds.
std::string read_whole_text(const std::string& path);

// Writes the parts one after another to a new file beside `path`, flushes it to the disk and renames it over `path`. A
// symbolic link stays a link: the file that it names is replaced. A path that exists and is no regular file
// (/dev/stdout, a pipe) is written to directly. Throws FileError (environment) and leaves `path` as it was.
void write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
void write_file_atomically(const std::string& path, std::string_view text);

// For the start of long work: throws what write_file_atomically would throw later, by a temporary file beside `path`
// that is removed again. Neither `path` nor what a device or pipe holds is touched.
void check_file_writable(const std::string& path);
// Whether `path` is a folder for new files or can become one: the same for its nearest ancestor that exists. Creates no
// folder.
void check_folder_writable(const std::string& path);

// "No space left on device; free some space or choose another path": an errno of writing and what to do about it.
std::string describe_write_error(int error);

}  // namespace lsecheck
