#pragma once

#include <chrono>
#include <string>
#include <vector>

// Other programs, run and waited for.
namespace lsecheck::cli {

struct ChildEnd {
  int exit_code = 0;       // -1: it was ended by a signal
  int signal = 0;          // where exit_code is -1
  bool timed_out = false;  // it was killed at its time limit

  bool clean() const { return exit_code == 0; }
  std::string text() const;  // "exit code 2", "signal 11", "no end within its time limit"
};

// Runs argv[0], found through PATH, with both of its output streams in `log`. Throws std::runtime_error where it cannot
// be started.
ChildEnd run_child(const std::vector<std::string>& argv, const std::string& log, std::chrono::seconds limit);

}  // namespace lsecheck::cli
