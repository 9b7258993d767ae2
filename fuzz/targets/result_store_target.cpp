#include <fmt/format.h>

#include "fuzz/targets/fuzz_target.h"
#include "fuzz/targets/temporary_file.h"
#include "reports/json_report.h"
#include "reports/result_store.h"
#include "reports/sample_run.h"
#include "reports/store_error.h"

namespace lsecheck::fuzz {
namespace {

FuzzOutcome run(FuzzInput input) {
  static const TemporaryFile file("store");
  file.write(input);
  try {
    const StoredRun run = load_result_store(file.path());
    // What was read can be told, and told again.
    const std::string text = results_text(run);
    if (results_text(parse_results(text, "input")) != text) {
      return FuzzOutcome::fail("a store was read that its JSON does not read back to");
    }
  } catch (const StoreError& refusal) {
    const std::string_view line = refusal.what();
    if (line.find(file.path().string()) == std::string_view::npos) return FuzzOutcome::fail("a refusal names no file");
  }
  return {};
}

std::vector<std::vector<std::uint8_t>> seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  const TemporaryFile file("store_seed");
  for (const std::uint64_t cases : {0, 1, 40}) {
    file.remove();
    ResultStore store = ResultStore::create(file.path(), sample_context());
    if (cases > 0) store.commit(sample_batch(0, cases), cases);
    if (cases == 40) store.finish();
    all.push_back(file.read());
  }
  return all;
}

}  // namespace

const FuzzTarget kResultStoreTarget{"result_store", "the reader of result stores, with any bytes as the file", run,
                                    nullptr, seeds};

}  // namespace lsecheck::fuzz
