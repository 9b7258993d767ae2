#include "reports/read_run.h"

#include <string>

#include "properties/whole_file.h"
#include "reports/json_report.h"
#include "reports/result_store.h"
#include "reports/store_error.h"

namespace lsecheck {

StoredRun read_run(const std::filesystem::path& path) {
  const std::string content = read_whole_text(path.string());
  if (content.starts_with("SQLite format 3")) return load_result_store(path);
  if (content.starts_with("{")) return parse_results(content, path.string());
  throw StoreError(
      StoreError::Kind::unreadable,
      "cannot read " + path.string() +
          ": neither a result store nor a results JSON; give a file that lsecheck wrote with --db or --json");
}

}  // namespace lsecheck
