#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_process.h"

namespace lsecheck::cli {

// Another lsecheck, asked for its outputs; read line by line while it runs. Ended with this object.
class OtherBuild {
 public:
  // Throws std::system_error where the program cannot be started.
  OtherBuild(const std::string& program, const std::vector<std::string>& arguments);
  ~OtherBuild();
  OtherBuild(const OtherBuild&) = delete;
  OtherBuild& operator=(const OtherBuild&) = delete;

  // Without its end; nullopt: no other whole line comes, and one of the next two may say why. `silence` is how long it
  // may write nothing at all while it is waited for; nullopt: for ever.
  std::optional<std::string> line(std::optional<std::chrono::milliseconds> silence);
  bool silent() const { return silent_; }              // it wrote nothing for that long
  bool within_line() const { return !text_.empty(); }  // what was read last has no end of a line
  // Nothing is read any more: a program that still writes is ended by that, and one that goes on all the same is killed
  // after a moment.
  ChildEnd end();

 private:
  void stop_reading();

  pid_t process_ = -1;
  int output_ = -1;
  std::string text_;          // read, not yet given as lines
  std::size_t searched_ = 0;  // so much of it holds no end of a line
  bool silent_ = false;
};

}  // namespace lsecheck::cli
