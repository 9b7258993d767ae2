#include "reports/result_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "properties/temporary_directory.h"
#include "properties/whole_file.h"
#include "reports/json_report.h"
#include "reports/read_run.h"
#include "reports/sample_run.h"
#include "reports/store_error_matcher.h"

namespace lsecheck {
namespace {

namespace fs = std::filesystem;
constexpr auto kEnvironment = StoreError::Kind::environment;
constexpr auto kUnreadable = StoreError::Kind::unreadable;

void commit_batches(ResultStore& store, std::uint64_t end, std::uint64_t batch_size) {
  while (store.next_case_index() < end) {
    const std::uint64_t begin = store.next_case_index();
    const std::uint64_t next = std::min(begin + batch_size, end);
    store.commit(sample_batch(begin, next), next);
  }
}

void write_run(const fs::path& path, std::uint64_t cases, std::uint64_t batch_size) {
  ResultStore store = ResultStore::create(path, sample_context());
  commit_batches(store, cases, batch_size);
  store.finish();
}

void write_raw(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

TEST(ResultStoreTest, LoadsWhatWasCommitted) {
  const TemporaryDirectory directory;
  write_run(directory / "run.db", 100, 100);
  const StoredRun run = load_result_store(directory / "run.db");
  EXPECT_EQ(results_text(run), results_text(sample_run(100)));
  EXPECT_GT(run.results.failures.size(), 0u);
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(ResultStoreTest, ContentDoesNotDependOnBatchSize) {
  const TemporaryDirectory directory;
  write_run(directory / "whole.db", 90, 90);
  const std::string whole = results_text(load_result_store(directory / "whole.db"));
  for (const std::uint64_t batch_size : {7u, 30u}) {
    const fs::path path = directory / ("batches" + std::to_string(batch_size));
    write_run(path, 90, batch_size);
    EXPECT_EQ(results_text(load_result_store(path)), whole) << batch_size;
  }
}

TEST(ResultStoreTest, ResumingContinuesToTheSameContent) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "run.db";
  {
    ResultStore store = ResultStore::create(path, sample_context());
    commit_batches(store, 33, 11);
    EXPECT_FALSE(store.finished());
  }
  const StoredRun half = load_result_store(path);
  EXPECT_EQ(half.next_case_index, 33u);
  EXPECT_FALSE(half.finished);
  {
    ResultStore store = ResultStore::resume(path, sample_context());
    EXPECT_EQ(store.next_case_index(), 33u);
    commit_batches(store, 60, 9);
    store.finish();
    EXPECT_EQ(results_text(store.load()), results_text(sample_run(60)));
  }
  EXPECT_EQ(results_text(load_result_store(path)), results_text(sample_run(60)));
}

// Killed at whatever moment, the file holds a whole number of batches and the run can go on.
TEST(ResultStoreTest, SurvivesBeingKilled) {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kBatch = 5;
  for (int attempt = 0; attempt < 6; ++attempt) {
    const fs::path path = directory / ("run" + std::to_string(attempt));
    ResultStore::create(path, sample_context());
    const pid_t child = fork();
    if (child == 0) {
      ResultStore store = ResultStore::resume(path, sample_context());
      commit_batches(store, 100'000, kBatch);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(20'000 + 13'000 * attempt));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const StoredRun killed = load_result_store(path);
    EXPECT_EQ(killed.next_case_index % kBatch, 0u);
    StoredRun expected = sample_run(killed.next_case_index);
    expected.finished = false;
    EXPECT_EQ(results_text(killed), results_text(expected));
    ResultStore store = ResultStore::resume(path, sample_context());
    const std::uint64_t end = killed.next_case_index + 7;
    commit_batches(store, end, kBatch);
    store.finish();
    EXPECT_EQ(results_text(store.load()), results_text(sample_run(end)));
  }
}

TEST(ResultStoreTest, NewStoreRefusesAnExistingFile) {
  const TemporaryDirectory directory;
  write_raw(directory / "run.db", "precious");
  expect_store_error(store_error_of([&] { ResultStore::create(directory / "run.db", sample_context()); }), kUnreadable,
                     {"run.db exists already", "--resume", "delete it", "--db"});
  EXPECT_EQ(read_whole_text(directory / "run.db"), "precious");
}

TEST(ResultStoreTest, ResumeNamesTheFieldThatDiffers) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "run.db";
  write_run(path, 10, 10);
  RunContext seed = sample_context();
  seed.seed = 8;
  expect_store_error(store_error_of([&] { ResultStore::resume(path, seed); }), kUnreadable,
                     {"run.db was written with seed '18364758544493064720', this run has seed '8'", "same options"});
  RunContext flags = sample_context();
  flags.flags = "-O0";
  expect_store_error(store_error_of([&] { ResultStore::resume(path, flags); }), kUnreadable, {"flags '-O0'"});
  RunContext generator = sample_context();
  ++generator.generator_version;
  expect_store_error(store_error_of([&] { ResultStore::resume(path, generator); }), kUnreadable, {"generator_version"});
}

TEST(ResultStoreTest, UnwritablePlacesAreEnvironmentErrors) {
  const TemporaryDirectory directory;
  write_raw(directory / "file", "");
  expect_store_error(store_error_of([&] { ResultStore::create(directory / "file/run.db", sample_context()); }),
                     kEnvironment, {"file/run.db", "Not a directory"});
  expect_store_error(store_error_of([&] { ResultStore::create(directory / "absent/run.db", sample_context()); }),
                     kEnvironment, {"absent/run.db", "create the directory first"});
}

// A file size limit stands in for the full disk.
TEST(ResultStoreTest, AFullDiskLosesOnlyTheCurrentBatch) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "run.db";
  ResultStore store = ResultStore::create(path, sample_context());
  commit_batches(store, 10, 5);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit limited = unlimited;
  limited.rlim_cur = fs::file_size(path) + 20'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const auto error = store_error_of([&] { commit_batches(store, 1000, 5); });
  const std::uint64_t reached = store.next_case_index();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  signal(SIGXFSZ, old_handler);
  expect_store_error(error, kEnvironment, {"cannot write ", "run.db", "--resume"});

  EXPECT_GE(reached, 10u);
  StoredRun expected = sample_run(reached);
  expected.finished = false;
  EXPECT_EQ(results_text(load_result_store(path)), results_text(expected));
  commit_batches(store, reached + 5, 5);
  EXPECT_EQ(store.load().next_case_index, reached + 5);
}

TEST(ResultStoreTest, TwoWritersOfOneFileAreNoticed) {
  const TemporaryDirectory directory;
  ResultStore first = ResultStore::create(directory / "run.db", sample_context());
  ResultStore second = ResultStore::resume(directory / "run.db", sample_context());
  commit_batches(first, 5, 5);
  expect_store_error(store_error_of([&] { commit_batches(second, 5, 5); }), kEnvironment,
                     {"run.db", "another run has written to it", "its own --db"});
  EXPECT_EQ(first.load().results.totals.cases, 5u);
}

TEST(ResultStoreTest, AReaderSeesTheRunningStore) {
  const TemporaryDirectory directory;
  ResultStore store = ResultStore::create(directory / "run.db", sample_context());
  commit_batches(store, 5, 5);
  EXPECT_EQ(load_result_store(directory / "run.db").results.totals.cases, 5u);
  commit_batches(store, 10, 5);
  EXPECT_EQ(load_result_store(directory / "run.db").results.totals.cases, 10u);
}

TEST(ResultStoreTest, ForeignFilesAreRefusedWithOneLine) {
  const TemporaryDirectory directory;
  const auto read = [](const fs::path& path) { return store_error_of([&] { load_result_store(path); }); };
  expect_store_error(read(directory / "absent.db"), kUnreadable, {"absent.db does not exist", "--db"});
  expect_store_error(read(directory / ""), kUnreadable, {"not a regular file"});
  write_raw(directory / "empty.db", "");
  expect_store_error(read(directory / "empty.db"), kUnreadable, {"empty.db is empty", "run again"});
  write_raw(directory / "text.db", std::string(5000, 'x'));
  expect_store_error(read(directory / "text.db"), kUnreadable, {"text.db: file is not a database", "--db"});
  run_sql(directory / "other.db", "CREATE TABLE t(x)");
  expect_store_error(read(directory / "other.db"), kUnreadable, {"other.db is an SQLite file but no lsecheck"});
  write_run(directory / "newer.db", 3, 3);
  run_sql(directory / "newer.db", "PRAGMA user_version = 4");
  expect_store_error(
      read(directory / "newer.db"), kUnreadable,
      {"newer.db has store schema 4, this lsecheck reads schemas 1 to 3", "use the lsecheck that wrote it"});
  expect_store_error(store_error_of([&] { ResultStore::resume(directory / "newer.db", sample_context()); }),
                     kUnreadable, {"store schema 4"});
}

// What lsecheck wrote before shards, charts and replays: kept in the tree as it was written.
TEST(ResultStoreTest, SchemaOneIsReadAndNotContinued) {
  const TemporaryDirectory directory;
  for (const char* name : {"schema1.db", "schema1_without_reference.db"}) {
    const fs::path path = directory / name;
    fs::copy_file(fs::path(LSECHECK_SOURCE_DIR "/reports/testdata") / name, path);
    const StoredRun run = load_result_store(path);
    EXPECT_EQ(run.context.shard, "1/1");
    EXPECT_EQ(run.context.reference, std::string(name) == "schema1.db" ? "certified" : "exact");
    EXPECT_EQ(run.results.totals.cases, 3u);
    EXPECT_EQ(run.results.stats.size(), 3u);
    EXPECT_TRUE(run.results.charts.empty());
    expect_store_error(store_error_of([&] { ResultStore::resume(path, run.context); }), kUnreadable,
                       {"has store schema 1, which is read but not continued", "--db"});
  }
}

// What lsecheck wrote before hunts.
TEST(ResultStoreTest, SchemaTwoIsReadAndNotContinued) {
  const TemporaryDirectory directory;
  fs::copy_file(LSECHECK_SOURCE_DIR "/reports/testdata/schema2.db", directory / "run.db");
  const StoredRun run = load_result_store(directory / "run.db");
  EXPECT_EQ(run.context.hunt_evaluations, 0u);
  EXPECT_EQ(run.results.totals.cases, 3u);
  EXPECT_FALSE(run.results.charts.empty());
  EXPECT_TRUE(run.results.hunts.empty());
  ASSERT_EQ(run.results.replays.size(), 2u);
  const Replay& held = run.results.replays.at("old/c.safetensors");
  EXPECT_EQ(held, (Replay{"old/c.safetensors", kOldFailure, "fa4_splitk_combine", held.law, "holds",
                          "old/c.safetensors", ""}));
  // Both were written by one run.
  const std::string json = LSECHECK_SOURCE_DIR "/reports/testdata/schema2.json";
  EXPECT_EQ(results_text(parse_results(read_whole_text(json), json)), results_text(run));
  expect_store_error(store_error_of([&] { ResultStore::resume(directory / "run.db", run.context); }), kUnreadable,
                     {"has store schema 2, which is read but not continued", "--db"});
}

TEST(ResultStoreTest, AMergeOfUnfinishedShardsIsNotContinued) {
  const TemporaryDirectory directory;
  {
    ResultStore store = ResultStore::create(directory / "run.db", sample_context());
    store.commit(sample_batch(0, 8), 5);
  }
  expect_store_error(store_error_of([&] { ResultStore::resume(directory / "run.db", sample_context()); }), kUnreadable,
                     {"merge of unfinished shards", "merge them again"});
}

TEST(ResultStoreTest, EditedContentIsNoticed) {
  const TemporaryDirectory directory;
  for (const char* const edit :
       {"UPDATE law SET failed = 0", "DELETE FROM failure", "UPDATE progress SET finished = 0", "DELETE FROM progress",
        "UPDATE stat SET ulp_largest_seen = 0.25", "UPDATE stat SET ulp_histogram = x'00'",
        "UPDATE stat SET ulp_histogram = zeroblob(640)", "UPDATE context SET value = 'x' WHERE field = 'seed'",
        "DELETE FROM context WHERE field = 'arch'", "INSERT INTO coverage VALUES('lse:new', 1)",
        "UPDATE coverage SET cases = 'many'", "UPDATE hunt SET bound_use = 0.125", "DELETE FROM hunt",
        "UPDATE replay SET origin = 'corpus input'", "DROP TABLE law",
        "ALTER TABLE law RENAME COLUMN failed TO passed"}) {
    fs::remove(directory / "run.db");
    write_run(directory / "run.db", 30, 30);
    run_sql(directory / "run.db", edit);
    const auto error = store_error_of([&] { load_result_store(directory / "run.db"); });
    SCOPED_TRACE(edit);
    expect_store_error(error, kUnreadable, {"cannot read ", "run.db", "the file is damaged"});
  }
}

TEST(ResultStoreTest, ATruncatedStoreIsRefused) {
  const TemporaryDirectory directory;
  write_run(directory / "run.db", 40, 40);
  const std::string bytes = read_whole_text(directory / "run.db");
  for (std::size_t length = 0; length < bytes.size(); length += length < 200 ? 7 : 1531) {
    write_raw(directory / "cut.db", bytes.substr(0, length));
    for (const bool resume : {false, true}) {
      const auto error = store_error_of([&] {
        if (resume) {
          ResultStore::resume(directory / "cut.db", sample_context());
        } else {
          load_result_store(directory / "cut.db");
        }
      });
      SCOPED_TRACE(length);
      expect_store_error(error, kUnreadable, {"cut.db"});
    }
  }
}

// A flipped bit is refused, or it hit a byte that carries nothing and the content is what it was.
void flip_bits(std::size_t stride) {
  const TemporaryDirectory directory;
  write_run(directory / "run.db", 12, 12);
  const std::string bytes = read_whole_text(directory / "run.db");
  const std::string content = results_text(load_result_store(directory / "run.db"));
  std::size_t refused = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += offset < 110 ? 1 : stride) {
    std::string flipped = bytes;
    flipped[offset] = static_cast<char>(flipped[offset] ^ (1 << offset % 8));
    write_raw(directory / "flipped.db", flipped);
    std::string loaded;
    const auto error = store_error_of([&] { loaded = results_text(load_result_store(directory / "flipped.db")); });
    if (error) {
      ++refused;
      EXPECT_EQ(std::string(error->what()).find('\n'), std::string::npos) << error->what();
    } else {
      EXPECT_EQ(loaded, content) << "offset " << offset;
    }
  }
  EXPECT_GT(refused, 20u);
}

TEST(ResultStoreTest, AFlippedBitNeverChangesTheContentUnnoticed) {
  flip_bits(461);
}
TEST(ResultStoreNightlyTest, AFlippedBitNeverChangesTheContentUnnoticed) {
  flip_bits(5);
}

TEST(ResultStoreTest, BatchesGoForwardOnly) {
  const TemporaryDirectory directory;
  ResultStore store = ResultStore::create(directory / "run.db", sample_context());
  commit_batches(store, 10, 10);
  EXPECT_THROW(store.commit(RunResults{}, 9), std::logic_error);
}

TEST(ResultStoreTest, ANotANumberMetricIsKeptAsAnInfiniteError) {
  const TemporaryDirectory directory;
  RunResults batch = sample_batch(0, 1);
  batch.stats.begin()->second.ulp.max.value = std::numeric_limits<double>::quiet_NaN();
  ResultStore store = ResultStore::create(directory / "run.db", sample_context());
  store.commit(batch, 1);
  EXPECT_EQ(store.load().results.stats.begin()->second.ulp.max.value, std::numeric_limits<double>::infinity());
}

TEST(ReadRunTest, TellsStoresFromJsonAndRefusesTheRest) {
  const TemporaryDirectory directory;
  write_run(directory / "run.db", 20, 20);
  write_file_atomically(directory / "run.json", results_text(sample_run(20)));
  EXPECT_EQ(results_text(read_run(directory / "run.db")), results_text(read_run(directory / "run.json")));
  write_raw(directory / "other", "PNG");
  expect_store_error(store_error_of([&] { read_run(directory / "other"); }), kUnreadable,
                     {"other", "neither a result store nor a results JSON"});
  EXPECT_THROW(read_run(directory / "absent"), FileError);
}

}  // namespace
}  // namespace lsecheck
