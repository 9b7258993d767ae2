#include "reports/context_fields.h"

#include "reports/store_tables.h"

namespace lsecheck {

std::optional<ContextDifference> first_difference(const RunContext& one, const RunContext& other) {
  const std::vector<Row> rows = rows_of(one);
  const std::vector<Row> other_rows = rows_of(other);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == other_rows[i]) continue;
    return ContextDifference{std::get<std::string>(rows[i][0]), std::get<std::string>(rows[i][1]),
                             std::get<std::string>(other_rows[i][1])};
  }
  return std::nullopt;
}

}  // namespace lsecheck
