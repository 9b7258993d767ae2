#include <fmt/format.h>

#include <stdexcept>

#include "properties/frozen_set.h"
#include "properties/record_lines.h"

namespace lsecheck {

namespace {

constexpr std::size_t kFields = 9;

std::string number_text(double value) {
  return value < 0 ? "-" : fmt::format("{}", value);
}

bool read_or_dash(std::string_view text, double& value) {
  return text == "-" || (read_number(text, value) && value >= 0);
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
  for (const RecordLine& line : record_lines(text)) {
    const auto& fields = line.fields;
    FrozenRow row;
    if (fields.size() != kFields || !read_number(fields[4], row.cases) || !read_number(fields[5], row.digest, 16) ||
        !read_or_dash(fields[6], row.scaled_ulp) || !read_or_dash(fields[7], row.bound_use)) {
      throw std::invalid_argument(
          fmt::format("line {} of the frozen digests is damaged; record them anew with "
                      "`lsecheck run --update-frozen FILE`",
                      line.number));
    }
    row.token = fields[8];
    rows[{std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), std::string(fields[3])}] = row;
  }
  return rows;
}

}  // namespace lsecheck
