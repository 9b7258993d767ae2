#pragma once

#include <chrono>
#include <string>

namespace lsecheck::cli {

// A line that is rewritten on a terminal, a plain line now and then elsewhere. Standard error, so that results can be
// piped.
class ProgressLine {
 public:
  ProgressLine();

  bool due() const;  // whether it is time for the next show()
  void show(const std::string& text);
  void end() const;  // leaves an empty line on a terminal

 private:
  bool terminal_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace lsecheck::cli
