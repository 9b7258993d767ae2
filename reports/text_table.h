#pragma once

#include <string>
#include <vector>

namespace lsecheck {

// Columns of text, two blanks apart. The first `left_aligned` columns align left, the others right.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, std::size_t left_aligned);

  void add(std::vector<std::string> row);  // as many cells as the header
  // Every line indented by two blanks and ended by a line feed.
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_aligned_;
};

// Breaks at blanks so that no line is longer than `width` unless a single word is; each line starts with `indent`.
std::string wrap(const std::string& text, const std::string& indent, std::size_t width);

}  // namespace lsecheck
