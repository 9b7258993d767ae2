#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

// Other programs, started and waited for.
namespace lsecheck::cli {

struct ChildEnd {
  int exit_code = 0;       // -1: it was ended by a signal
  int signal = 0;          // where exit_code is -1
  bool timed_out = false;  // it was killed at its time limit

  bool clean() const { return exit_code == 0; }
  std::string text() const;  // "exit code 2", "signal 11", "no end within its time limit"
};

struct ChildStart {
  std::vector<std::string> argv;         // argv[0] is found through PATH
  std::string log;                       // takes both of its output streams
  std::vector<std::string> environment;  // "NAME=value"; empty: this process's
  bool own_group = false;                // a process group of its own: what it starts can be ended with it
};

// The child is terminated when the thread that starts it ends before it, however that ends. Throws std::runtime_error
// where it cannot be started.
pid_t start_child(const ChildStart& start);

// A child that is still there at the limit is killed, with its group: it must have one of its own. Throws
// std::runtime_error where the child was not found.
ChildEnd wait_for_child(pid_t child, std::optional<std::chrono::seconds> limit);

// The wait status of the child; nullopt: it is still there at the limit, and goes on.
std::optional<int> status_within(pid_t child, std::optional<std::chrono::seconds> limit);
// What a wait status says.
ChildEnd end_of_status(int status);

// Start and wait, in a group of its own.
ChildEnd run_child(const std::vector<std::string>& argv, const std::string& log, std::chrono::seconds limit);

}  // namespace lsecheck::cli
