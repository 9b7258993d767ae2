#include "reports/file_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "reports/store_error.h"

namespace lsecheck {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  throw StoreError(StoreError::Kind::environment, "cannot write " + path.string() + ": " + describe_errno(error));
}

[[noreturn]] void cannot_read(const fs::path& path, const std::string& reason) {
  throw StoreError(StoreError::Kind::unreadable, "cannot read " + path.string() + ": " + reason);
}

const char* remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another path";
    case EFBIG:
      return "raise the file size limit or choose another path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a path you may write to";
    case ENOENT:
      return "create the directory first";
    case ENOTDIR:
      return "a part of the path is a file: choose a path inside a directory";
    case EISDIR:
      return "the path is a directory: give a file name inside it";
    default:
      return "choose another path";
  }
}

// Returns 0 or the errno. Closes the descriptor in either case.
int write_and_close(int descriptor, std::string_view content, bool flush) {
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && flush && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

// Renaming over a device or a pipe would replace it by a file.
bool is_device_or_pipe(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

std::string describe_errno(int error) {
  return std::string(std::strerror(error)) + "; " + remedy_for(error);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  if (is_device_or_pipe(path)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) cannot_write(path, errno);
    if (const int error = write_and_close(descriptor, content, false); error != 0) cannot_write(path, error);
    return;
  }
  if (path.empty() || fs::is_directory(path)) cannot_write(path, path.empty() ? ENOENT : EISDIR);
  // A symbolic link stays a link: the file it names is the one replaced.
  std::error_code not_a_link;
  const fs::path canonical = fs::canonical(path, not_a_link);
  const fs::path target = not_a_link ? path : canonical;
  fs::path temporary = target;
  temporary += "." + std::to_string(::getpid()) + ".partial";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) cannot_write(path, errno);
  int error = write_and_close(descriptor, content, true);
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    cannot_write(path, error);
  }
}

std::string read_whole_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) cannot_read(path, "no such file; give the path of an existing one");
  if (!fs::is_regular_file(path, ignored)) cannot_read(path, "not a regular file; give the path of a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) cannot_read(path, std::string(std::strerror(errno)) + "; check its permissions");
  std::string content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) cannot_read(path, "the file system gave an error; check the disk");
  return content;
}

}  // namespace lsecheck
