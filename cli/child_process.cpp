#include "cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lsecheck::cli {
namespace {

constexpr int kCannotStart = 127;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child, which shares nothing but descriptors with a parent that may have other threads: it calls only what
// a signal handler may.
[[noreturn]] void become(const ChildStart& start, const std::vector<char*>& argv, const std::vector<char*>& environment,
                         pid_t parent, int errors) {
  // It must not go on alone, however its parent ends. SIGTERM: what has children of its own can end them.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCannotStart);
  if (start.own_group) setpgid(0, 0);
  const int log = open(start.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0) {
    close(log);
    execvpe(argv[0], argv.data(), start.environment.empty() ? environ : environment.data());
  }
  const int error = errno;
  static_cast<void>(!write(errors, &error, sizeof error));
  _exit(kCannotStart);
}

}  // namespace

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

pid_t start_child(const ChildStart& start) {
  const std::vector<char*> argv = pointers_to(start.argv);
  const std::vector<char*> environment = pointers_to(start.environment);
  const auto fail = [&](int error) {
    throw std::runtime_error(
        fmt::format("cannot start {} with its output in {}: {}", start.argv[0], start.log, std::strerror(error)));
  };
  std::array<int, 2> errors{};  // closed by what the child becomes
  if (pipe2(errors.data(), O_CLOEXEC) != 0) fail(errno);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(start, argv, environment, parent, errors[1]);
  const int fork_error = errno;
  close(errors[1]);
  int error = 0;
  const bool failed = child > 0 && read(errors[0], &error, sizeof error) == sizeof error;
  close(errors[0]);
  if (child < 0) fail(fork_error);
  if (failed) {
    status_within(child, std::nullopt);
    fail(error);
  }
  return child;
}

ChildEnd end_of_status(int status) {
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status), false};
  return {WEXITSTATUS(status), 0, false};
}

ChildEnd wait_for_child(pid_t child, std::optional<std::chrono::seconds> limit) {
  const std::optional<int> status = status_within(child, limit);
  if (!status) {
    kill(-child, SIGKILL);
    ChildEnd end = end_of_status(*status_within(child, std::nullopt));
    end.timed_out = true;
    return end;
  }
  const ChildEnd end = end_of_status(*status);
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
