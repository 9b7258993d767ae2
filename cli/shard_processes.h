#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/child_process.h"

// One command as several processes of this program, each with a shard of the cases.
namespace lsecheck::cli {

struct ShardProcesses {
  std::vector<std::string> arguments;  // of every process: the sub-command and its options
  unsigned count = 1;
  bool one_gpu_each = false;  // process i sees the i-th visible GPU alone
  std::string out;            // process i gets --out OUT/shard-<i+1>, and writes what it prints to OUT/shard-<i+1>.log
};

// The options that the command line gave to `command`, without those named (as "--seed").
std::vector<std::string> given_arguments(const CLI::App& command, const std::vector<std::string>& without);

// The folder of shard `index`.
std::string shard_folder(const std::string& out, unsigned index);

// Starts them all and waits for all. Throws std::runtime_error where one cannot be started.
std::vector<ChildEnd> run_shard_processes(const ShardProcesses& processes);

}  // namespace lsecheck::cli
