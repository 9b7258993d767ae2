#pragma once

#include <string>
#include <vector>

#include "reports/stored_run.h"

namespace lsecheck {

struct NamedRun {
  std::string name;  // for messages: the file
  StoredRun run;
};

// The run whose shards are given, in any order: what one process would have stored, byte for byte, when every shard
// came to its end. Otherwise it is unfinished, and next_case_index is the first case that is missing. Throws StoreError
// (unreadable): runs of different options or builds, a shard given twice, or one missing.
StoredRun merge_shards(const std::vector<NamedRun>& shards);

// The same of stores or results JSON, kept in the store `into`, which must not exist yet.
StoredRun merge_shards_into(const std::string& into, const std::vector<std::string>& files);

}  // namespace lsecheck
