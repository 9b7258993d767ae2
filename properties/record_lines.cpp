#include "properties/record_lines.h"

#include <algorithm>

namespace lsecheck {

namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    if (blank > 0) fields.push_back(line.substr(0, blank));
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  return fields;
}

}  // namespace

std::vector<RecordLine> record_lines(std::string_view text) {
  std::vector<RecordLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    RecordLine record{number, fields_of(line.substr(0, line.find('#')))};
    if (!record.fields.empty()) lines.push_back(std::move(record));
  }
  return lines;
}

}  // namespace lsecheck
