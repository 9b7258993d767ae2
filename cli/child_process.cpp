#include "cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lsecheck::cli {
namespace {

constexpr int kCannotStart = 127;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The wait status of the child; nullopt: it is still there at the limit.
std::optional<int> status_within(pid_t child, std::optional<std::chrono::seconds> limit) {
  int status = 0;
  if (!limit) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  const auto deadline = std::chrono::steady_clock::now() + *limit;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return status;
}

}  // namespace

pid_t start_child(const ChildStart& start) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, start.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (start.own_group) {
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  const std::vector<char*> argv = pointers_to(start.argv);
  const std::vector<char*> environment = pointers_to(start.environment);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(),
                                 start.environment.empty() ? environ : environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error(
        fmt::format("cannot start {} with its output in {}: {}", start.argv[0], start.log, std::strerror(error)));
  }
  return child;
}

ChildEnd wait_for_child(pid_t child, std::optional<std::chrono::seconds> limit) {
  ChildEnd end;
  std::optional<int> status = status_within(child, limit);
  if (!status) {
    end.timed_out = true;
    kill(-child, SIGKILL);
    status = status_within(child, std::nullopt);
  }
  if (WIFSIGNALED(*status)) {
    end.exit_code = -1;
    end.signal = WTERMSIG(*status);
    return end;
  }
  end.exit_code = WEXITSTATUS(*status);
  if (end.exit_code == kCannotStart) throw std::runtime_error("a program that was to be started was not found");
  return end;
}

std::string ChildEnd::text() const {
  if (timed_out) return "no end within its time limit";
  return exit_code < 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", exit_code);
}

ChildEnd run_child(const std::vector<std::string>& argv, const std::string& log, std::chrono::seconds limit) {
  return wait_for_child(start_child({argv, log, {}, true}), limit);
}

}  // namespace lsecheck::cli
