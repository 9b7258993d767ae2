#include "reports/sqlite_database.h"

#include <sqlite3.h>

#include <bit>

#include "reports/store_error.h"

namespace lsecheck {
namespace {

constexpr int kBusyTimeoutMs = 10'000;  // a reader holds the file for milliseconds

struct Cause {
  StoreError::Kind kind;
  const char* remedy;
};

Cause cause_of(int code) {
  using Kind = StoreError::Kind;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Kind::environment, "free some space, then continue with --resume"};
    case SQLITE_IOERR:
      return {Kind::environment, "check the disk and its free space, then continue with --resume"};
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Kind::environment, "choose a path you may write to"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {Kind::environment, "another process uses the file: wait for it or choose another path"};
    case SQLITE_NOMEM:
      return {Kind::environment, "free some memory"};
    case SQLITE_NOTADB:
      return {Kind::unreadable, "give a file that lsecheck wrote with --db"};
    default:
      return {Kind::unreadable, "the file is damaged: restore a copy or run again into a new file"};
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, const std::string& sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail();
}

void Statement::bind(const std::vector<Cell>& cells) {
  int index = 0;
  for (const Cell& cell : cells) {
    ++index;
    sqlite3_stmt* const statement = statement_.get();
    int code = SQLITE_OK;
    if (const auto* integer = std::get_if<std::uint64_t>(&cell)) {
      code = sqlite3_bind_int64(statement, index, std::bit_cast<std::int64_t>(*integer));
    } else if (const auto* real = std::get_if<double>(&cell)) {
      code = sqlite3_bind_double(statement, index, *real);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      code = sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      const std::string& bytes = std::get<Blob>(cell).bytes;
      code = sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    }
    if (code != SQLITE_OK) database_->fail();
  }
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail();
  return code == SQLITE_ROW;
}

void Statement::reset() {
  // The code is that of the last step, which has thrown already.
  sqlite3_reset(statement_.get());
}

int Statement::column_count() const {
  return sqlite3_column_count(statement_.get());
}

Cell Statement::column(int index, ColumnType type) const {
  sqlite3_stmt* const statement = statement_.get();
  const int stored = sqlite3_column_type(statement, index);
  const auto require = [&](int expected) {
    if (stored != expected) database_->fail_damaged("a value has another type than its column");
  };
  const auto bytes = [&](const void* data) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, index));
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
  };
  switch (type) {
    case ColumnType::integer:
      require(SQLITE_INTEGER);
      return std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(sqlite3_column_int64(statement, index)));
    case ColumnType::real:
      require(SQLITE_FLOAT);
      return sqlite3_column_double(statement, index);
    case ColumnType::text:
      require(SQLITE_TEXT);
      return bytes(sqlite3_column_text(statement, index));
    case ColumnType::blob:
      break;
  }
  require(SQLITE_BLOB);
  return Blob{bytes(sqlite3_column_blob(statement, index))};
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

// An absolute path cannot be mistaken for ":memory:" or a "file:" URI. The file is opened for writing even to read it,
// where permissions allow: only so can SQLite roll back what a killed run left half-written.
Database::Database(const std::filesystem::path& path, Access access) : path_(path), access_(access) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) throw StoreError(StoreError::Kind::environment, "out of memory; free some memory");
  if (code != SQLITE_OK) fail();
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // The file may come from anywhere: its schema gets no powers.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  execute("PRAGMA cell_size_check = ON");
  if (access == Access::read) execute("PRAGMA query_only = ON");
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::uint64_t Database::integer(const std::string& sql) {
  Statement statement(*this, sql);
  if (!statement.step()) fail_damaged("it gives no answer to " + sql);
  return std::get<std::uint64_t>(statement.column(0, ColumnType::integer));
}

void Database::check_integrity() {
  Statement statement(*this, "PRAGMA quick_check(1)");
  if (!statement.step()) fail_damaged("quick_check gives no answer");
  std::string answer = std::get<std::string>(statement.column(0, ColumnType::text));
  if (answer == "ok") return;
  for (char& c : answer) {
    if (c == '\n') c = ' ';
  }
  fail_damaged(answer);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle()) == 0;
}

void Database::fail() const {
  const Cause cause = cause_of(sqlite3_extended_errcode(handle()));
  const bool reading = access_ == Access::read || cause.kind == StoreError::Kind::unreadable;
  const char* const verb = reading ? "cannot read " : "cannot write ";
  throw StoreError(cause.kind, verb + path_.string() + ": " + sqlite3_errmsg(handle()) + "; " + cause.remedy);
}

void Database::fail_damaged(const std::string& reason) const {
  throw StoreError(StoreError::Kind::unreadable,
                   "cannot read " + path_.string() + ": " + reason + "; " + cause_of(SQLITE_CORRUPT).remedy);
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // A full disk may have rolled back already; anything that still fails is rolled back by the next opener's recovery.
  if (database_.in_transaction()) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
}

}  // namespace lsecheck
