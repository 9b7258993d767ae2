#include "properties/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace lsecheck {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

std::string reason_of(int error) {
  return std::strerror(error);
}

// What the name says is the user's to mend; what the machine says is not.
FileErrorKind kind_of_open_failure(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
      return FileErrorKind::environment;
    default:
      return FileErrorKind::unreadable;
  }
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

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw FileError(FileErrorKind::environment, path, "cannot write: " + describe_write_error(error));
}

void write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      cannot_write(path, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// Renaming over a device or a pipe would replace it by a file.
bool is_device_or_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_directly(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) cannot_write(path, errno);
  for (const auto part : parts) write_all(file.get(), part, path);
  if (file.close() != 0) cannot_write(path, errno);
}

// A name in the same directory, so that the rename stays within one file system. The process id and a counter keep
// concurrent writers apart; a leftover of a dead process is passed over.
struct TemporaryFile {
  std::string name;
  int fd;
};

TemporaryFile create_beside(const std::string& target, const std::string& path) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    std::string name = fmt::format("{}.{}.{}.tmp", target, ::getpid(), counter++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {std::move(name), fd};
    if (errno != EEXIST) cannot_write(path, errno);
  }
}

// The file that writing to `path` creates or replaces: a link's own target. Not for devices and pipes.
std::string replaced_file(const std::string& path) {
  if (path.empty() || std::filesystem::is_directory(path)) cannot_write(path, path.empty() ? ENOENT : EISDIR);
  std::error_code not_there;
  const std::filesystem::path canonical = std::filesystem::canonical(path, not_there);
  return not_there ? path : canonical.string();
}

// Permissions alone do not tell: file systems are read-only, quotas full, roots squashed.
void try_to_create_beside(const std::string& target, const std::string& path) {
  const TemporaryFile temporary = create_beside(target, path);
  ::close(temporary.fd);
  ::unlink(temporary.name.c_str());
}

}  // namespace

std::vector<std::byte> read_whole_file(const std::string& path, std::uint64_t max_bytes) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw FileError(kind_of_open_failure(errno), path, "cannot open: " + reason_of(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw FileError(FileErrorKind::environment, path, "cannot stat: " + reason_of(errno));
  }
  if (!S_ISREG(status.st_mode)) throw FileError(FileErrorKind::unreadable, path, "not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes) {
    throw FileError(
        FileErrorKind::unreadable, path,
        fmt::format("{} bytes are more than the memory limit of {} bytes; raise --memory", size, max_bytes));
  }
  std::vector<std::byte> bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    throw FileError(FileErrorKind::environment, path, fmt::format("no memory for its {} bytes", size));
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw FileError(FileErrorKind::environment, path, "cannot read: " + reason_of(errno));
    }
    if (got == 0) throw FileError(FileErrorKind::unreadable, path, "became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string read_whole_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_whole_file(path, std::numeric_limits<std::uint64_t>::max());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string describe_write_error(int error) {
  return reason_of(error) + "; " + remedy_for(error);
}

void write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  if (is_device_or_pipe(path)) return write_directly(path, parts);
  const std::string target = replaced_file(path);
  const TemporaryFile temporary = create_beside(target, path);
  Descriptor file(temporary.fd);
  try {
    for (const auto part : parts) write_all(file.get(), part, path);
    // The rename must not reach the disk before the data does.
    if (::fsync(file.get()) != 0) cannot_write(path, errno);
    if (file.close() != 0) cannot_write(path, errno);
    if (::rename(temporary.name.c_str(), target.c_str()) != 0) cannot_write(path, errno);
  } catch (...) {
    ::unlink(temporary.name.c_str());
    throw;
  }
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_file_atomically(path, std::span(&part, 1));
}

void check_file_writable(const std::string& path) {
  if (!is_device_or_pipe(path)) return try_to_create_beside(replaced_file(path), path);
  // Opening a pipe would wait for its reader, and closing it would tell the reader that all is written.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) cannot_write(path, errno);
}

void check_folder_writable(const std::string& path) {
  struct stat status {};
  std::filesystem::path existing = std::filesystem::absolute(path);
  while (::stat(existing.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) cannot_write(path, errno);
    if (!existing.has_relative_path()) cannot_write(path, ENOENT);
    existing = existing.parent_path();
  }
  if (!S_ISDIR(status.st_mode)) cannot_write(path, ENOTDIR);
  try_to_create_beside((existing / "writable").string(), path);
}

}  // namespace lsecheck
