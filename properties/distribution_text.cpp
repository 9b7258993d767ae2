#include <fmt/format.h>

#include <stdexcept>

#include "properties/distribution.h"
#include "properties/record_lines.h"

namespace lsecheck {

std::string distribution_text(const DistributionRows& rows) {
  std::string text =
      "# Distribution of errors. Written by `lsecheck run --update-distribution FILE`.\n"
      "# kernel out regime rows columns upward outward correctly_rounded # mean errors upward and outward, share "
      "correct\n";
  for (const auto& [key, row] : rows) {
    text += fmt::format("{} {} {} {} {} {} {} {} # {:.4f} ulp, {:.4f} ulp, {:.3f} %\n", key.kernel, key.out, key.regime,
                        row.rows, row.columns, row.upward, row.outward, row.correctly_rounded, row.mean_upward(),
                        row.mean_outward(), 100 * row.share_correct());
  }
  return text;
}

DistributionRows parse_distribution(std::string_view text) {
  DistributionRows rows;
  for (const RecordLine& line : record_lines(text)) {
    const auto& fields = line.fields;
    DistributionRow row;
    if (fields.size() != 8 || !read_number(fields[3], row.rows) || !read_number(fields[4], row.columns) ||
        !read_number(fields[5], row.upward) || !read_number(fields[6], row.outward) ||
        !read_number(fields[7], row.correctly_rounded) || row.rows == 0 || row.columns == 0) {
      throw std::invalid_argument(
          fmt::format("line {} of the recorded distribution is damaged; record it anew with `lsecheck run "
                      "--update-distribution FILE`",
                      line.number));
    }
    rows[{std::string(fields[0]), std::string(fields[1]), std::string(fields[2])}] = row;
  }
  return rows;
}

}  // namespace lsecheck
