#include "cli/shard_processes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "properties/shard.h"

namespace lsecheck::cli {
namespace {

// The index-th entry of CUDA_VISIBLE_DEVICES, which may be a number or an identifier; the index where that is not set.
std::string visible_device(unsigned index) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream entries(visible == nullptr ? "" : visible);
  std::string entry;
  for (unsigned i = 0; std::getline(entries, entry, ','); ++i) {
    if (i == index) return entry;
  }
  return std::to_string(index);
}

std::vector<std::string> environment_with(const std::string& name, const std::string& value) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(name + "=")) variables.emplace_back(*variable);
  }
  variables.push_back(name + "=" + value);
  return variables;
}

pid_t start(const ShardProcesses& processes, unsigned index) {
  const std::string folder = shard_folder(processes.out, index);
  ChildStart child{{"/proc/self/exe"}, folder + ".log", {}, false};
  child.argv.insert(child.argv.end(), processes.arguments.begin(), processes.arguments.end());
  child.argv.insert(child.argv.end(), {"--shard", format_shard({index, processes.count}), "--out", folder});
  // A shard that was stopped before its first batch has nothing to resume.
  if (std::filesystem::exists(folder + "/run.db")) child.argv.emplace_back("--resume");
  if (processes.one_gpu_each) child.environment = environment_with("CUDA_VISIBLE_DEVICES", visible_device(index));
  return start_child(child);
}

}  // namespace

std::vector<std::string> given_arguments(const CLI::App& command, const std::vector<std::string>& without) {
  std::vector<std::string> arguments{command.get_name()};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::find(without.begin(), without.end(), name) != without.end()) continue;
    arguments.push_back(name);
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) arguments.push_back(value);
  }
  return arguments;
}

std::string shard_folder(const std::string& out, unsigned index) {
  return fmt::format("{}/shard-{}", out, index + 1);
}

std::vector<ChildEnd> run_shard_processes(const ShardProcesses& processes) {
  std::vector<pid_t> children;
  children.reserve(processes.count);
  for (unsigned i = 0; i < processes.count; ++i) children.push_back(start(processes, i));
  std::vector<ChildEnd> ends;
  ends.reserve(children.size());
  for (const pid_t child : children) ends.push_back(wait_for_child(child, std::nullopt));
  return ends;
}

}  // namespace lsecheck::cli
