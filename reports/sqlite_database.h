#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

// SQLite with ownership, typed cells and errors that say which file and what to do.
namespace lsecheck {

struct Blob {
  std::string bytes;
  bool operator==(const Blob&) const = default;
};

// The alternatives' order is that of ColumnType. Unsigned integers are kept as SQLite's signed ones, bit for bit.
using Cell = std::variant<std::uint64_t, double, std::string, Blob>;
enum class ColumnType { integer, real, text, blob };

class Database;

// A prepared statement. Every failure throws StoreError.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);

  void bind(const std::vector<Cell>& cells);  // to parameters 1, 2, ...
  bool step();                                // true: a row is there
  void reset();                               // before the next bind
  int column_count() const;
  // Throws StoreError (unreadable) when the stored cell is not of that type.
  Cell column(int index, ColumnType type) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Access { read, read_write };

  // Opens an existing file. With `read` nothing is changed but an interrupted transaction, which is rolled back where
  // the file system allows it.
  Database(const std::filesystem::path& path, Access access);

  void execute(const std::string& sql);
  // The single integer a pragma or query gives.
  std::uint64_t integer(const std::string& sql);
  // Throws StoreError (unreadable) when quick_check finds the file inconsistent.
  void check_integrity();
  bool in_transaction() const;
  const std::filesystem::path& path() const { return path_; }

  // Throws StoreError: the last SQLite error as a line.
  [[noreturn]] void fail() const;
  // Throws StoreError (unreadable): the content makes no sense.
  [[noreturn]] void fail_damaged(const std::string& reason) const;

  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::filesystem::path path_;
  Access access_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
};

}  // namespace lsecheck
