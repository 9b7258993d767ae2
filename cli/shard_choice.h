#pragma once

#include <functional>
#include <optional>
#include <string>

#include "properties/shard.h"

// Which part of its cases a run takes: from --shard, or from the scheduler that started it as one task of many.
namespace lsecheck::cli {

struct ShardChoice {
  Shard shard;
  std::string source;  // "--shard", "SLURM_ARRAY_TASK_ID", ...; empty: nothing asked for a part
};

// The value of an environment variable; nullopt where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

inline constexpr const char* kShardHelp =
    "part i of n of the cases, such as 2/8; default: by GTEST_SHARD_INDEX with GTEST_TOTAL_SHARDS, by "
    "SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_COUNT, _MIN and _STEP, or by JOB_COMPLETION_INDEX with "
    "JOB_COMPLETIONS, where one of them is set";

// `option` is what --shard was given, or empty; it wins over the environment. Throws CLI::ValidationError.
ShardChoice choose_shard(const std::string& option, const Environment& environment);

}  // namespace lsecheck::cli
