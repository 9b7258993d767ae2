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

// Files whose cases are replayed before the sequence; a shard takes its share of them.
struct KeptCases {
  std::vector<std::string> old_failures;   // case files
  std::vector<std::string> corpus_inputs;  // of the fuzz target combine_case
};

// First the kept cases, then the worst cases that are known, then the sequence, then the hunts that the context asks
// for. What the store holds is not run again. Shows progress on standard error.
ExecutedRun execute_run(PreparedRun prepared, const StoreChoice& choice, const KeptCases& kept);

}  // namespace lsecheck::cli
