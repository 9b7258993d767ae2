#pragma once

#include <string>
#include <vector>

#include "cli/run_options.h"
#include "reports/stored_run.h"

// Runs what prepare_run prepared and keeps what it finds.
namespace lsecheck::cli {

struct StoreChoice {
  std::string path;  // empty: results stay in memory
  bool resume = false;
};

struct ExecutedRun {
  StoredRun run;
  bool device_failed = false;  // it ended early, with the batches before
};

// First the old failures (case files; a shard takes its share of them), then the cases. Shows progress on standard
// error.
ExecutedRun execute_run(PreparedRun prepared, const StoreChoice& choice, const std::vector<std::string>& old_failures);

}  // namespace lsecheck::cli
