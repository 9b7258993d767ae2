#pragma once

#include <charconv>
#include <string_view>
#include <vector>

// Records that are kept as text beside the sources: a line a row, fields separated by single blanks, from '#' on a
// comment.
namespace lsecheck {

struct RecordLine {
  std::size_t number;  // from 1
  std::vector<std::string_view> fields;
};

// The lines that hold more than a comment; the fields point into the text.
std::vector<RecordLine> record_lines(std::string_view text);

// Reads the whole field as a number; what else stands in it makes it false. Base: for integers.
template <class T, class... Base>
bool read_number(std::string_view field, T& value, Base... base) {
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value, base...);
  return error == std::errc() && stop == end;
}

}  // namespace lsecheck
