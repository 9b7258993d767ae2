#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "properties/frozen_set.h"

namespace lsecheck {

namespace {

constexpr std::size_t kFields = 9;

std::string number_text(double value) {
  return value < 0 ? "-" : fmt::format("{}", value);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t blank = line.find(' ');
    fields.push_back(line.substr(0, blank));
    if (blank == std::string_view::npos) return fields;
    line.remove_prefix(blank + 1);
  }
}

template <class T, class... Format>
bool read(std::string_view text, T& value, Format... format) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_or_dash(std::string_view text, double& value) {
  return text == "-" || (read(text, value) && value >= 0);
}

}  // namespace

std::string frozen_text(const FrozenRows& rows) {
  std::string text =
      "# Output bits of the frozen cases. Written by `lsecheck run --update-frozen FILE`.\n"
      "# kernel variant arch types cases digest scaled_ulp bound_use case\n";
  std::string kernel;
  for (const auto& [key, row] : rows) {
    if (key.kernel != kernel) text += "\n";
    kernel = key.kernel;
    text += fmt::format("{} {} {} {} {} {:016x} {} {} {}\n", key.kernel, key.variant, key.arch, key.types, row.cases,
                        row.digest, number_text(row.scaled_ulp), number_text(row.bound_use), row.token);
  }
  return text;
}

FrozenRows parse_frozen(std::string_view text) {
  FrozenRows rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> fields = fields_of(line);
    FrozenRow row;
    if (fields.size() != kFields || !read(fields[4], row.cases) || !read(fields[5], row.digest, 16) ||
        !read_or_dash(fields[6], row.scaled_ulp) || !read_or_dash(fields[7], row.bound_use)) {
      throw std::invalid_argument(
          fmt::format("line {} of the frozen digests is damaged; record them anew with "
                      "`lsecheck run --update-frozen FILE`",
                      number));
    }
    row.token = fields[8];
    rows[{std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), std::string(fields[3])}] = row;
  }
  return rows;
}

}  // namespace lsecheck
