#include "cli/shard_choice.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace lsecheck::cli {
namespace {

// How a scheduler tells a task which one it is. The index counts from `first` (or 0) in strides of `step` (or 1).
struct Scheduler {
  const char* index;
  const char* count;
  const char* first;
  const char* step;
};
constexpr Scheduler kSchedulers[] = {
    {"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", nullptr, nullptr},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
    {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", nullptr, nullptr},
};

[[noreturn]] void refuse(const std::string& reason) {
  throw CLI::ValidationError("--shard", reason + "; give --shard i/n (1/1 runs every case)");
}

std::uint32_t number_of(const char* name, const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(fmt::format("{} is '{}'", name, text));
  return number;
}

std::uint32_t number_or(const char* name, std::uint32_t otherwise, const Environment& environment) {
  const auto text = name == nullptr ? std::nullopt : environment(name);
  return text ? number_of(name, *text) : otherwise;
}

std::optional<ShardChoice> choice_of(const Scheduler& scheduler, const Environment& environment) {
  const auto index_text = environment(scheduler.index);
  if (!index_text) return std::nullopt;
  const auto count_text = environment(scheduler.count);
  if (!count_text) refuse(fmt::format("{} is set but {} is not", scheduler.index, scheduler.count));
  const std::uint32_t id = number_of(scheduler.index, *index_text);
  const std::uint32_t count = number_of(scheduler.count, *count_text);
  const std::uint32_t first = number_or(scheduler.first, 0, environment);
  const std::uint32_t step = number_or(scheduler.step, 1, environment);
  // A list such as --array=1,5,6 has indices that say nothing of the position.
  if (id < first || step == 0 || (id - first) % step != 0 || (id - first) / step >= count || count > kMaxShards) {
    refuse(fmt::format("{}={} is not one of {} tasks from {} in steps of {}", scheduler.index, id, count, first, step));
  }
  return ShardChoice{{(id - first) / step, count}, scheduler.index};
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

ShardChoice choose_shard(const std::string& option, const Environment& environment) {
  if (!option.empty()) {
    const auto shard = parse_shard(option);
    if (!shard) throw CLI::ValidationError("--shard", fmt::format("'{}' is not i/n such as 1/8 .. 8/8", option));
    return {*shard, "--shard"};
  }
  std::optional<ShardChoice> chosen;
  for (const Scheduler& scheduler : kSchedulers) {
    const auto choice = choice_of(scheduler, environment);
    if (!choice) continue;
    if (chosen && chosen->shard != choice->shard) {
      refuse(fmt::format("{} says {}, {} says {}", chosen->source, format_shard(chosen->shard), choice->source,
                         format_shard(choice->shard)));
    }
    if (!chosen) chosen = choice;
  }
  return chosen.value_or(ShardChoice{});
}

}  // namespace lsecheck::cli
