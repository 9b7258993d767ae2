#include "reports/store_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lsecheck {
namespace {

void append_maximum_columns(Table& table, const std::string& metric) {
  table.columns.insert(table.columns.end(), {{metric + "_largest_seen", ColumnType::real},
                                             {metric + "_case_index", ColumnType::integer},
                                             {metric + "_token", ColumnType::text},
                                             {metric + "_row_head", ColumnType::integer},
                                             {metric + "_depth_index", ColumnType::integer},
                                             {metric + "_got_bits", ColumnType::integer},
                                             {metric + "_correctly_rounded_bits", ColumnType::integer}});
}

Table make_chart_table() {
  Table table{"chart", {}, 6};
  for (const char* key : {"chart", "kernel", "unit", "out"}) table.columns.push_back({key, ColumnType::text});
  for (const char* number : {"x", "y", "row_heads"}) table.columns.push_back({number, ColumnType::integer});
  append_maximum_columns(table, "scaled_ulp");
  table.columns.push_back({"largest_bound", ColumnType::real});
  return table;
}

Table make_stat_table() {
  Table table{"stat", {}, 8};
  for (const char* key : {"kernel", "variant", "arch", "unit", "out", "partial", "p_class", "lse_regime"}) {
    table.columns.push_back({key, ColumnType::text});
  }
  for (const char* count : {"cases", "row_heads", "elements", "correctly_rounded", "digest"}) {
    table.columns.push_back({count, ColumnType::integer});
  }
  for (const std::string metric : {"ulp", "scaled_ulp", "steps", "bound_use"}) {
    append_maximum_columns(table, metric);
    table.columns.push_back({metric + "_histogram", ColumnType::blob});
  }
  return table;
}

std::vector<std::string> names_of(const Table& table, std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = first; i < first + count; ++i) names.push_back('"' + table.columns[i].name + '"');
  return names;
}

const char* sql_name_of(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return "INTEGER";
    case ColumnType::real:
      return "REAL";
    case ColumnType::text:
      return "TEXT";
    case ColumnType::blob:
      break;
  }
  return "BLOB";
}

}  // namespace

std::string Table::create_statement() const {
  std::vector<std::string> lines;
  lines.reserve(columns.size() + 1);
  for (const Column& column : columns) {
    lines.push_back(fmt::format("\"{}\" {} NOT NULL", column.name, sql_name_of(column.type)));
  }
  if (key_columns > 0) {
    lines.push_back(
        fmt::format("PRIMARY KEY ({})", fmt::join(names_of(*this, 0, static_cast<std::size_t>(key_columns)), ", ")));
  }
  return fmt::format("CREATE TABLE \"{}\" ({}){}", name, fmt::join(lines, ", "),
                     key_columns > 0 ? " WITHOUT ROWID" : "");
}

std::string Table::select_all_statement() const {
  const auto ordered_by = names_of(*this, 0, key_columns > 0 ? static_cast<std::size_t>(key_columns) : columns.size());
  return fmt::format("SELECT {} FROM \"{}\" ORDER BY {}", fmt::join(names_of(*this, 0, columns.size()), ", "), name,
                     fmt::join(ordered_by, ", "));
}

std::string Table::select_by_key_statement() const {
  return fmt::format("SELECT {} FROM \"{}\" WHERE {} = ?", fmt::join(names_of(*this, 0, columns.size()), ", "), name,
                     fmt::join(names_of(*this, 0, static_cast<std::size_t>(key_columns)), " = ? AND "));
}

std::string Table::write_statement() const {
  const std::vector<std::string> parameters(columns.size(), "?");
  return fmt::format("INSERT OR REPLACE INTO \"{}\" VALUES ({})", name, fmt::join(parameters, ", "));
}

const Table& context_table() {
  static const Table table{"context", {{"field", ColumnType::text}, {"value", ColumnType::text}}, 1};
  return table;
}

const Table& progress_table() {
  static const Table table{"progress",
                           {{"id", ColumnType::integer},
                            {"next_case_index", ColumnType::integer},
                            {"finished", ColumnType::integer},
                            {"cases", ColumnType::integer},
                            {"row_heads", ColumnType::integer},
                            {"elements", ColumnType::integer},
                            {"failures", ColumnType::integer},
                            {"content_digest", ColumnType::integer}},
                           1};
  return table;
}

const Table& stat_table() {
  static const Table table = make_stat_table();
  return table;
}

const Table& law_table() {
  static const Table table{"law",
                           {{"kernel", ColumnType::text},
                            {"law", ColumnType::text},
                            {"checked", ColumnType::integer},
                            {"not_applicable", ColumnType::integer},
                            {"failed", ColumnType::integer}},
                           2};
  return table;
}

const Table& coverage_table() {
  static const Table table{"coverage", {{"class", ColumnType::text}, {"cases", ColumnType::integer}}, 1};
  return table;
}

const Table& chart_table() {
  static const Table table = make_chart_table();
  return table;
}

const Table& replay_table(int schema) {
  static const Table of_schema_2{"replay",
                                 {{"file", ColumnType::text},
                                  {"kernel", ColumnType::text},
                                  {"law", ColumnType::text},
                                  {"outcome", ColumnType::text},
                                  {"message", ColumnType::text}},
                                 1};
  static const Table table = [] {
    Table wider = of_schema_2;
    wider.columns.insert(wider.columns.end(), {{"origin", ColumnType::text}, {"case_file", ColumnType::text}});
    return wider;
  }();
  return schema < 3 ? of_schema_2 : table;
}

const Table& hunt_table() {
  static const Table table{"hunt",
                           {{"kernel", ColumnType::text},
                            {"out", ColumnType::text},
                            {"partial", ColumnType::text},
                            {"exponent", ColumnType::text},
                            {"arch", ColumnType::text},
                            {"lse_regime", ColumnType::text},
                            {"num_partitions", ColumnType::integer},
                            {"evaluations", ColumnType::integer},
                            {"bound_use", ColumnType::real},
                            {"worst", ColumnType::text}},
                           7};
  return table;
}

const Table& failure_table() {
  static const Table table{"failure",
                           {{"case_index", ColumnType::integer},
                            {"kernel", ColumnType::text},
                            {"law", ColumnType::text},
                            {"token", ColumnType::text},
                            {"found_token", ColumnType::text},
                            {"case_file", ColumnType::text},
                            {"shape", ColumnType::text},
                            {"message", ColumnType::text}},
                           0};
  return table;
}

}  // namespace lsecheck
