#include "cli/other_build.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <system_error>

namespace lsecheck::cli {
namespace {

// What an ending program has to do behind its last line is to free its memory.
constexpr std::chrono::seconds kMoment{10};

bool readable_within(int descriptor, std::optional<std::chrono::milliseconds> limit) {
  const int time = limit ? static_cast<int>(std::min<std::int64_t>(limit->count(), INT_MAX)) : -1;
  pollfd wanted{descriptor, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&wanted, 1, time)) < 0 && errno == EINTR) {
  }
  return ready != 0;
}

}  // namespace

OtherBuild::OtherBuild(const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // What it complains of is told by its exit code, in the words of the one who asked.
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = ::posix_spawnp(&process_, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (error != 0) {
    stop_reading();
    throw std::system_error(error, std::generic_category(), "cannot start " + program);
  }
}

OtherBuild::~OtherBuild() {
  stop_reading();
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    status_within(process_, std::nullopt);
  }
}

void OtherBuild::stop_reading() {
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

std::optional<std::string> OtherBuild::line(std::optional<std::chrono::milliseconds> silence) {
  std::array<char, 1 << 16> piece{};
  std::size_t end = 0;
  while ((end = text_.find('\n', searched_)) == std::string::npos) {
    searched_ = text_.size();
    silent_ = !readable_within(output_, silence);
    if (silent_) return std::nullopt;
    const ssize_t size = ::read(output_, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    text_.append(piece.data(), static_cast<std::size_t>(size));
  }
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

ChildEnd OtherBuild::end() {
  stop_reading();
  const std::optional<int> status = status_within(process_, kMoment);
  ChildEnd end;
  if (status) {
    end = end_of_status(*status);
  } else {
    ::kill(process_, SIGKILL);
    status_within(process_, std::nullopt);
    end.timed_out = true;
  }
  process_ = -1;
  return end;
}

}  // namespace lsecheck::cli
