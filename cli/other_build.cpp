#include "cli/other_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lsecheck::cli {

OtherBuild::OtherBuild(const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
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
  output_ = ::fdopen(ends[0], "r");
  if (error != 0) {
    process_ = -1;
    std::fclose(output_);
    throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
}

OtherBuild::~OtherBuild() {
  std::fclose(output_);
  std::free(buffer_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    exit_code();
  }
}

std::optional<std::string> OtherBuild::line() {
  const ssize_t size = ::getline(&buffer_, &capacity_, output_);
  if (size < 0) return std::nullopt;
  std::string text(buffer_, static_cast<std::size_t>(size));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

int OtherBuild::exit_code() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lsecheck::cli
