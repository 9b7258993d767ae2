#include "properties/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
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

void write_all(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw FileError(FileErrorKind::environment, path, "cannot write: " + reason_of(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// A name in the same directory, so that the rename stays within one file system. The process id and a counter keep
// concurrent writers apart; a leftover of a dead process is passed over.
struct TemporaryFile {
  std::string name;
  int fd;
};

TemporaryFile create_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    std::string name = fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {std::move(name), fd};
    if (errno != EEXIST) {
      throw FileError(FileErrorKind::environment, path, "cannot create the file: " + reason_of(errno));
    }
  }
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

void write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  const TemporaryFile temporary = create_beside(path);
  Descriptor file(temporary.fd);
  try {
    for (const auto part : parts) write_all(file.get(), part, path);
    // The rename must not reach the disk before the data does.
    if (::fsync(file.get()) != 0) {
      throw FileError(FileErrorKind::environment, path, "cannot write: " + reason_of(errno));
    }
    if (file.close() != 0) throw FileError(FileErrorKind::environment, path, "cannot close: " + reason_of(errno));
    if (::rename(temporary.name.c_str(), path.c_str()) != 0) {
      throw FileError(FileErrorKind::environment, path, "cannot rename into place: " + reason_of(errno));
    }
  } catch (...) {
    ::unlink(temporary.name.c_str());
    throw;
  }
}

}  // namespace lsecheck
