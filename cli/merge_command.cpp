#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "reports/merge_shards.h"
#include "reports/run_summary.h"

namespace lsecheck::cli {
namespace {

struct MergeOptions {
  std::string into;
  std::vector<std::string> files;
};

void merge(const MergeOptions& options) {
  const StoredRun merged = merge_shards_into(options.into, options.files);
  fmt::print("{}: {} shards, {}\n", verdict_word(merged), options.files.size(), verdict_basis(merged));
}

}  // namespace

void add_merge_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "merge", "put the shards of a run together: the store that one undivided run would have written");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("--into", options->into, "the store to write; must not exist")->type_name("FILE")->required();
  command->add_option("FILES", options->files, "stores (--db) or results JSON (--json) of all shards, in any order")
      ->required();
  command->footer(
      "Shards that are missing, given twice, or of runs with other options are refused. Shards that stopped before "
      "their end (--time) are merged; the result is then unfinished and cannot be resumed.\n"
      "exit code 0 whatever the run's verdict\n"
      "examples:\n"
      "  lsecheck run --shard 1/2 --db a.db; lsecheck run --shard 2/2 --db b.db\n"
      "  lsecheck merge --into run.db a.db b.db && lsecheck report run.db");
  command->callback([options] { merge(*options); });
}

}  // namespace lsecheck::cli
