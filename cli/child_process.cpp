#include "cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <thread>

namespace lsecheck::cli {
namespace {

constexpr int kCannotStart = 127;

// In a process group of its own, so that at its time limit what it started ends with it.
pid_t start(const std::vector<std::string>& argv, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start {}: {}", argv[0], std::strerror(error)));
  return child;
}

}  // namespace

std::string ChildEnd::text() const {
  if (timed_out) return "no end within its time limit";
  return exit_code < 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", exit_code);
}

ChildEnd run_child(const std::vector<std::string>& argv, const std::string& log, std::chrono::seconds limit) {
  const pid_t child = start(argv, log);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  ChildEnd end;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      end.timed_out = true;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFSIGNALED(status)) {
    end.exit_code = -1;
    end.signal = WTERMSIG(status);
    return end;
  }
  end.exit_code = WEXITSTATUS(status);
  if (end.exit_code == kCannotStart) throw std::runtime_error(fmt::format("cannot start {}: not found", argv[0]));
  return end;
}

}  // namespace lsecheck::cli
