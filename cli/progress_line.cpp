#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace lsecheck::cli {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::due() const {
  const auto pause = terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(15'000);
  return std::chrono::steady_clock::now() - last_ >= pause;
}

void ProgressLine::show(const std::string& text) {
  last_ = std::chrono::steady_clock::now();
  fmt::print(stderr, "{}", terminal_ ? fmt::format("\r{:<78}", text) : text + "\n");
  std::fflush(stderr);
}

void ProgressLine::end() const {
  if (terminal_) fmt::print(stderr, "\r{:78}\r", "");
}

}  // namespace lsecheck::cli
