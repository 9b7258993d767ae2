#pragma once

#include <cstdint>
#include <filesystem>

#include "properties/results.h"
#include "reports/sqlite_database.h"
#include "reports/store_tables.h"
#include "reports/stored_run.h"

// One SQLite file per run. Whatever is killed whenever: the file holds a whole number of batches, and no matter how the
// cases were batched or how often the run was resumed, the same cases leave the same rows. Every failure is a
// StoreError.
namespace lsecheck {

class ResultStore final : public ResultSink {
 public:
  // A new store. The file must not exist.
  static ResultStore create(const std::filesystem::path& path, const RunContext& context);
  // Goes on with a store of this schema whose context equals this one in every field.
  static ResultStore resume(const std::filesystem::path& path, const RunContext& context);

  // One transaction: adds the batch to the totals and advances the progress to next_case_index, which is at least what
  // it was; a batch that runs no case of the sequence (replays) keeps it.
  void commit(const RunResults& batch, std::uint64_t next_case_index) override;
  // Marks the run as having come to its end. A later commit takes the mark away.
  void finish();

  std::uint64_t next_case_index() const { return progress_.next_case_index; }
  bool finished() const { return progress_.finished; }
  StoredRun load();

 private:
  explicit ResultStore(Database database);

  void create_tables(const RunContext& context);
  Progress write_progress(Progress progress);
  template <typename Change>
  void update(Change change);

  Database database_;
  Progress progress_;
};

// Reads a store of schema 1 to 3 and changes nothing in it. A run may go on writing meanwhile. Stores before schema 3
// hold no hunts, and their replays are old failures; those of schema 1 hold no charts and no replays, and name no shard
// (1/1), some no reference (exact).
StoredRun load_result_store(const std::filesystem::path& path);

}  // namespace lsecheck
