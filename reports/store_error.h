#pragma once

#include <stdexcept>
#include <string>

namespace lsecheck {

// Whatever keeps a store, a results file or a report from being read or written. what() is one line: what could not be
// done, to which file, why, and the remedy.
class StoreError : public std::runtime_error {
 public:
  enum class Kind {
    unreadable,   // the file named is missing, damaged, of another kind, or belongs to another run (exit code 2)
    environment,  // the disk, the directory or another process stands in the way (exit code 4)
  };

  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace lsecheck
