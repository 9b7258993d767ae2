#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "properties/results.h"
#include "reports/sqlite_database.h"
#include "reports/store_schema.h"

// How each kind of result becomes a row of its table (store_schema.h) and comes back.
namespace lsecheck {

using Row = std::vector<Cell>;

// The single row of progress_table(). content_digest is the sum modulo 2^64 of row_digest() over every other row and
// over this one with content_digest 0: SQLite itself cannot tell a flipped bit inside a number from the number.
struct Progress {
  std::uint64_t next_case_index = 0;
  bool finished = false;
  RunTotals totals;
  std::uint64_t content_digest = 0;
};

std::vector<Row> rows_of(const RunContext& context);
Row row_of(const Progress& progress);
Row row_of(const StatKey& key, const StatRow& row);
Row row_of(const LawKey& key, const LawRow& row);
Row row_of(const std::string& coverage_class, std::uint64_t cases);
Row row_of(const ChartKey& key, const ChartRow& row);
Row row_of(const Failure& failure);
Row row_of(const Replay& replay);
Row row_of(const HuntKey& key, const HuntStat& row);

// The inverses. Rows have their table's columns and types; std::invalid_argument says what else is wrong.
RunContext context_of(const std::vector<Row>& rows, int schema);
Progress progress_of(const Row& row);
std::pair<StatKey, StatRow> stat_of(const Row& row);
std::pair<LawKey, LawRow> law_of(const Row& row);
std::pair<std::string, std::uint64_t> coverage_of(const Row& row);
std::pair<ChartKey, ChartRow> chart_of(const Row& row);
Failure failure_of(const Row& row);
Replay replay_of(const Row& row, int schema);
std::pair<HuntKey, HuntStat> hunt_of(const Row& row);

// 64-bit FNV-1a over the table's name and the cells, lengths included.
std::uint64_t row_digest(const Table& table, const Row& row);

// Reads the statement's current row.
Row read_row(const Statement& statement, const Table& table);

}  // namespace lsecheck
