#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace lsecheck::cli {

// Another lsecheck, asked for its outputs; read line by line while it runs. Ended with this object.
class OtherBuild {
 public:
  // Throws std::runtime_error where the program cannot be started.
  OtherBuild(const std::string& program, const std::vector<std::string>& arguments);
  ~OtherBuild();
  OtherBuild(const OtherBuild&) = delete;
  OtherBuild& operator=(const OtherBuild&) = delete;

  // Without its end; nullopt at the end of the output.
  std::optional<std::string> line();
  // Waits for the program; 128 and above: it was ended by a signal.
  int exit_code();

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace lsecheck::cli
