#include "reports/result_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <stdexcept>

#include "properties/whole_file.h"
#include "reports/context_fields.h"
#include "reports/store_error.h"

namespace lsecheck {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kApplicationId = 0x6c736563;  // "lsec": tells a store from any other SQLite file

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw StoreError(StoreError::Kind::unreadable, path.string() + " " + reason);
}

std::uint64_t digest_without_itself(Progress progress) {
  progress.content_digest = 0;
  return row_digest(progress_table(), row_of(progress));
}

void create_empty_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) {
    ::close(descriptor);
    return;
  }
  if (errno == EEXIST) {
    refuse(path, "exists already: continue it with --resume, delete it, or choose another --db");
  }
  throw StoreError(StoreError::Kind::environment,
                   "cannot create " + path.string() + ": " + describe_write_error(errno));
}

void require_store_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) refuse(path, "does not exist: give a file that lsecheck wrote with --db");
  if (!fs::is_regular_file(path, ignored)) refuse(path, "is not a regular file: give a file lsecheck wrote with --db");
}

Database open_existing(const fs::path& path, Database::Access access) {
  require_store_file(path);
  Database database(path, access);
  if (database.integer("PRAGMA page_count") == 0) {
    refuse(path, "is empty: the run that made it ended before it began; delete it and run again");
  }
  if (database.integer("PRAGMA application_id") != kApplicationId) {
    refuse(path, "is an SQLite file but no lsecheck result store: give a file that lsecheck wrote with --db");
  }
  const std::uint64_t version = database.integer("PRAGMA user_version");
  if (version < 1 || version > kStoreSchemaVersion) {
    refuse(path, fmt::format("has store schema {}, this lsecheck reads schemas 1 to {}: use the lsecheck that wrote it",
                             version, kStoreSchemaVersion));
  }
  if (version != kStoreSchemaVersion && access == Database::Access::read_write) {
    refuse(path, fmt::format("has store schema {}, which is read but not continued (new runs have {}): resume it with "
                             "the lsecheck that wrote it, or choose another --db",
                             version, kStoreSchemaVersion));
  }
  // SQLite reads what is missing of the last page as zeros. The file may grow meanwhile, it never shrinks.
  std::error_code unknown_size;
  if (fs::file_size(path, unknown_size) <
      database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size")) {
    database.fail_damaged("it is cut short");
  }
  database.check_integrity();
  return database;
}

// Every row of a table goes to `take`; their digests are summed.
template <typename Take>
std::uint64_t read_table(const Database& database, const Table& table, Take take) {
  Statement statement(database, table.select_all_statement());
  std::uint64_t digest = 0;
  while (statement.step()) {
    const Row row = read_row(statement, table);
    digest += row_digest(table, row);
    take(row);
  }
  return digest;
}

Progress read_progress(const Database& database) {
  std::optional<Progress> progress;
  read_table(database, progress_table(), [&](const Row& row) { progress = progress_of(row); });
  if (!progress) throw std::invalid_argument("the progress row is missing");
  return *progress;
}

StoredRun read_tables(Database& database) {
  const auto schema = static_cast<int>(database.integer("PRAGMA user_version"));
  StoredRun run;
  RunResults& results = run.results;
  std::vector<Row> context_rows;
  std::uint64_t digest = read_table(database, context_table(), [&](const Row& row) { context_rows.push_back(row); });
  digest += read_table(database, stat_table(), [&](const Row& row) { results.stats.insert(stat_of(row)); });
  digest += read_table(database, law_table(), [&](const Row& row) { results.laws.insert(law_of(row)); });
  digest += read_table(database, coverage_table(), [&](const Row& row) { results.coverage.insert(coverage_of(row)); });
  digest += read_table(database, failure_table(), [&](const Row& row) { results.failures.push_back(failure_of(row)); });
  if (schema >= 2) {
    digest += read_table(database, chart_table(), [&](const Row& row) { results.charts.insert(chart_of(row)); });
    digest += read_table(database, replay_table(schema), [&](const Row& row) {
      Replay replay = replay_of(row, schema);
      results.replays.emplace(replay.file, replay);
    });
  }
  if (schema >= 3) {
    digest += read_table(database, hunt_table(), [&](const Row& row) { results.hunts.insert(hunt_of(row)); });
  }
  const Progress progress = read_progress(database);
  digest += digest_without_itself(progress);
  if (digest != progress.content_digest) throw std::invalid_argument("the content does not match its digest");
  run.context = context_of(context_rows, schema);
  results.totals = progress.totals;
  run.next_case_index = progress.next_case_index;
  run.finished = progress.finished;
  return run;
}

// One read transaction, so that a run that commits meanwhile is seen before or after, not in between.
StoredRun read_everything(Database& database) {
  try {
    database.execute("BEGIN");
    StoredRun run = read_tables(database);
    database.execute("COMMIT");
    return run;
  } catch (const std::invalid_argument& damage) {
    database.fail_damaged(damage.what());
  }
}

void require_equal_contexts(const fs::path& path, const RunContext& stored, const RunContext& wanted) {
  if (const auto difference = first_difference(stored, wanted)) {
    refuse(path, fmt::format("was written with {0} '{1}', this run has {0} '{2}': resume with the same options and "
                             "build, or choose another --db",
                             difference->field, difference->one, difference->other));
  }
}

void merge_into(StatRow& total, const StatRow& batch) {
  total.merge(batch);
}
void merge_into(LawRow& total, const LawRow& batch) {
  total.merge(batch);
}
void merge_into(ChartRow& total, const ChartRow& batch) {
  total.merge(batch);
}
void merge_into(HuntStat& total, const HuntStat& batch) {
  total.merge(batch);
}
void merge_into(std::uint64_t& total, std::uint64_t batch) {
  total += batch;
}

Row key_of(const Table& table, const Row& row) {
  return {row.begin(), row.begin() + table.key_columns};
}

// Adds the batch's rows to those of the same key; returns by how much the content digest changes.
template <typename Map, typename Decode>
std::uint64_t merge_rows(const Database& database, const Table& table, const Map& batch, Decode decode) {
  Statement find(database, table.select_by_key_statement());
  Statement write(database, table.write_statement());
  std::uint64_t change = 0;
  for (const auto& [key, batch_row] : batch) {
    auto total = std::decay_t<decltype(batch_row)>{};
    find.bind(key_of(table, row_of(key, total)));
    if (find.step()) {
      const Row old = read_row(find, table);
      change -= row_digest(table, old);
      total = decode(old).second;
    }
    merge_into(total, batch_row);
    const Row row = row_of(key, total);
    find.reset();
    write.bind(row);
    write.step();
    write.reset();
    change += row_digest(table, row);
  }
  return change;
}

template <typename Rows>
std::uint64_t insert_rows(const Database& database, const Table& table, const Rows& rows) {
  Statement write(database, table.write_statement());
  std::uint64_t change = 0;
  for (const Row& row : rows) {
    write.bind(row);
    write.step();
    write.reset();
    change += row_digest(table, row);
  }
  return change;
}

std::vector<Row> rows_of(const std::vector<Failure>& failures) {
  std::vector<Row> rows;
  rows.reserve(failures.size());
  for (const Failure& failure : failures) rows.push_back(row_of(failure));
  return rows;
}

std::vector<Row> rows_of(const std::map<std::string, Replay>& replays) {
  std::vector<Row> rows;
  rows.reserve(replays.size());
  for (const auto& [file, replay] : replays) rows.push_back(row_of(replay));
  return rows;
}

}  // namespace

ResultStore::ResultStore(Database database) : database_(std::move(database)) {
  // A rollback journal leaves one file between transactions; full syncs keep committed batches through a power cut.
  database_.execute("PRAGMA journal_mode = DELETE");
  database_.execute("PRAGMA synchronous = FULL");
}

ResultStore ResultStore::create(const fs::path& path, const RunContext& context) {
  create_empty_file(path);
  try {
    ResultStore store(Database(path, Database::Access::read_write));
    store.create_tables(context);
    return store;
  } catch (const StoreError&) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw;
  }
}

void ResultStore::create_tables(const RunContext& context) {
  Transaction transaction(database_);
  database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database_.execute(fmt::format("PRAGMA user_version = {}", kStoreSchemaVersion));
  for (const Table* table : {&context_table(), &progress_table(), &stat_table(), &law_table(), &coverage_table(),
                             &chart_table(), &failure_table(), &replay_table(), &hunt_table()}) {
    database_.execute(table->create_statement());
  }
  Progress progress;
  progress.content_digest = insert_rows(database_, context_table(), lsecheck::rows_of(context));
  progress_ = write_progress(progress);
  transaction.commit();
}

ResultStore ResultStore::resume(const fs::path& path, const RunContext& context) {
  ResultStore store(open_existing(path, Database::Access::read_write));
  const StoredRun run = store.load();
  require_equal_contexts(path, run.context, context);
  store.progress_ = read_progress(store.database_);
  if (run.context.shard == "1/1" && run.results.totals.cases != run.next_case_index) {
    refuse(path, "is a merge of unfinished shards, with gaps: resume those, then merge them again");
  }
  return store;
}

// progress.content_digest comes in as the sum over the other tables.
Progress ResultStore::write_progress(Progress progress) {
  progress.content_digest += digest_without_itself(progress);
  insert_rows(database_, progress_table(), std::vector<Row>{row_of(progress)});
  return progress;
}

// change(progress) edits the tables and the progress; all of it happens or nothing does.
template <typename Change>
void ResultStore::update(Change change) {
  try {
    Transaction transaction(database_);
    Progress progress = read_progress(database_);
    if (row_of(progress) != row_of(progress_)) {
      throw StoreError(
          StoreError::Kind::environment,
          "cannot write " + database_.path().string() + ": another run has written to it; give each run its own --db");
    }
    progress.content_digest -= digest_without_itself(progress);
    change(progress);
    progress = write_progress(progress);
    transaction.commit();
    progress_ = progress;
  } catch (const std::invalid_argument& damage) {
    database_.fail_damaged(damage.what());
  }
}

void ResultStore::commit(const RunResults& batch, std::uint64_t next_case_index) {
  if (next_case_index < progress_.next_case_index) {
    throw std::logic_error("ResultStore::commit: batches come in the order of their cases");
  }
  update([&](Progress& progress) {
    progress.content_digest += merge_rows(database_, stat_table(), batch.stats, stat_of);
    progress.content_digest += merge_rows(database_, law_table(), batch.laws, law_of);
    progress.content_digest += merge_rows(database_, coverage_table(), batch.coverage, coverage_of);
    progress.content_digest += merge_rows(database_, chart_table(), batch.charts, chart_of);
    progress.content_digest += merge_rows(database_, hunt_table(), batch.hunts, hunt_of);
    progress.content_digest += insert_rows(database_, failure_table(), rows_of(batch.failures));
    progress.content_digest += insert_rows(database_, replay_table(), rows_of(batch.replays));
    progress.totals.merge(batch.totals);
    progress.next_case_index = next_case_index;
    progress.finished = false;
  });
}

void ResultStore::finish() {
  update([](Progress& progress) { progress.finished = true; });
}

StoredRun ResultStore::load() {
  return read_everything(database_);
}

StoredRun load_result_store(const fs::path& path) {
  Database database = open_existing(path, Database::Access::read);
  return read_everything(database);
}

}  // namespace lsecheck
