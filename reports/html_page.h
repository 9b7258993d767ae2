#pragma once

#include <string>
#include <vector>

// The building blocks of the HTML report: page frame, style, script, tables.
namespace lsecheck::html {

std::string escape(const std::string& text);

// A whole page around a body that is HTML already; `title` is plain text.
std::string page(const std::string& title, const std::string& body);

// A line to paste with a button that copies it.
std::string copyable(const std::string& text);

struct TableCell {
  std::string content;   // HTML
  std::string sort_key;  // a number as text sorts as a number; empty: not a number, the content's text sorts
};

// A table that its header buttons sort. The first `left_aligned` columns align left, the others right.
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<TableCell>>& rows,
                  std::size_t left_aligned);

}  // namespace lsecheck::html
