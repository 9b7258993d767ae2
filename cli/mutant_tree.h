#pragma once

#include <optional>
#include <string>

// A scratch copy of the sources that patches are planted in and that is built against the cpu backend. Files that did
// not change keep their time stamps, so that a mutant compiles what includes its file, and nothing else.
namespace lsecheck::cli {

class MutantTree {
 public:
  // source: a checkout. scratch: created, reused where it exists.
  MutantTree(std::string source, std::string scratch, unsigned jobs);

  // Makes the copy equal to the checkout: undoes every patch.
  void refresh() const;
  // Both: nullopt, or a line that says what went wrong and where its output is.
  std::optional<std::string> apply(const std::string& patch) const;
  std::optional<std::string> build() const;

  std::string program() const { return scratch_ + "/build/release/cli/lsecheck"; }
  std::string file(const std::string& name) const { return scratch_ + "/build/" + name; }

 private:
  std::string source_;
  std::string scratch_;
  unsigned jobs_;
};

}  // namespace lsecheck::cli
