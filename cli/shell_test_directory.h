#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lsecheck::cli {

struct Outcome {
  int exit_code;
  std::string out, err;
};

inline std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A fresh directory in which the built program runs as a shell would run it. For tests.
class ShellTestDirectory {
 public:
  ShellTestDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "lsecheck-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + name);
    directory_ = name;
    std::filesystem::create_directory(directory_ / "cwd");
  }
  ~ShellTestDirectory() { std::filesystem::remove_all(directory_); }
  ShellTestDirectory(const ShellTestDirectory&) = delete;
  ShellTestDirectory& operator=(const ShellTestDirectory&) = delete;

  // `script` runs in cwd(), where `lsecheck` is the program and $LSECHECK its path.
  Outcome run(const std::string& script) const {
    // A redirection in the script wins over those of the group.
    const std::string command = "cd " + cwd().string() + " && export LSECHECK='" + LSECHECK_PROGRAM +
                                "' && lsecheck() { \"$LSECHECK\" \"$@\"; } && { " + script + "\n} >../out 2>../err";
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return {code, contents_of(directory_ / "out"), contents_of(directory_ / "err")};
  }
  std::filesystem::path cwd() const { return directory_ / "cwd"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace lsecheck::cli
