#include "cli/shard_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/exit_codes.h"
#include "properties/shard.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

// The entries of CUDA_VISIBLE_DEVICES, which may be numbers or identifiers; empty: it is not set.
std::vector<std::string> visible_devices() {
  std::vector<std::string> devices;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return devices;
  std::string entry;
  for (const char* c = text;; ++c) {
    if (*c != ',' && *c != '\0') {
      entry += *c;
      continue;
    }
    if (!entry.empty()) devices.push_back(entry);
    entry.clear();
    if (*c == '\0') return devices;
  }
}

std::vector<std::string> environment_with(const std::string& name, const std::string& value) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(name + "=")) variables.emplace_back(*variable);
  }
  variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start(const ShardProcesses& processes, unsigned index) {
  const std::string folder = shard_folder(processes.out, index);
  std::vector<std::string> arguments{"lsecheck"};
  arguments.insert(arguments.end(), processes.arguments.begin(), processes.arguments.end());
  for (const std::string& more :
       {std::string("--shard"), format_shard({index, processes.count}), std::string("--out"), folder}) {
    arguments.push_back(more);
  }
  std::error_code missing;
  if (std::filesystem::exists(folder + "/run.db", missing)) arguments.emplace_back("--resume");
  std::string device = std::to_string(index);
  if (const std::vector<std::string> visible = visible_devices(); index < visible.size()) device = visible[index];
  std::vector<std::string> environment = environment_with("CUDA_VISIBLE_DEVICES", device);
  const std::string log = folder + ".log";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int refused = posix_spawn(&child, "/proc/self/exe", &files, nullptr, pointers_of(arguments).data(),
                                  processes.one_gpu_each ? pointers_of(environment).data() : environ);
  posix_spawn_file_actions_destroy(&files);
  if (refused != 0) {
    throw FileError(FileErrorKind::environment, log,
                    fmt::format("cannot start a process that writes it: {}", std::strerror(refused)));
  }
  return child;
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

std::vector<int> run_shard_processes(const ShardProcesses& processes) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < processes.count; ++i) children.push_back(start(processes, i));
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

}  // namespace lsecheck::cli
