#pragma once

#include <string>
#include <vector>

#include "reports/sqlite_database.h"

// The tables of a result store.
namespace lsecheck {

inline constexpr int kStoreSchemaVersion = 3;

struct Column {
  std::string name;
  ColumnType type;
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  int key_columns;  // the first ones are the primary key; 0: rows have none

  std::string create_statement() const;
  std::string select_all_statement() const;  // in key order; without a key in the order of all columns
  std::string select_by_key_statement() const;
  std::string write_statement() const;  // inserts, or replaces the row of that key
};

const Table& context_table();   // one row a field, as text
const Table& progress_table();  // a single row
const Table& stat_table();
const Table& law_table();
const Table& coverage_table();
const Table& chart_table();
const Table& failure_table();
const Table& replay_table(int schema = kStoreSchemaVersion);  // 2 or 3
const Table& hunt_table();

}  // namespace lsecheck
