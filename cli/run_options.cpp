#include "cli/run_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "build_version.h"
#include "cli/cuda_device.h"
#include "cli/quantities.h"
#include "cli/shard_choice.h"
#include "kernels/sfu/sfu.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/run_case.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

// How many cases a profile runs when --cases does not say.
struct Profile {
  const char* name;
  std::uint64_t cases;
};
constexpr Profile kProfiles[] = {{"smoke", 20'000}, {"nightly", 200'000}, {"soak", 100'000'000}};

template <class T>
T required(std::optional<T> value, const std::string& option, const std::string& text, const char* forms) {
  if (!value) throw CLI::ValidationError(option, fmt::format("'{}' is not {}", text, forms));
  return *value;
}

RunConfig config_of(const CaseRunOptions& options) {
  RunConfig config;
  config.profile = options.profile;
  for (const Profile& profile : kProfiles) {
    if (options.profile == profile.name) config.cases = profile.cases;
  }
  if (options.cases > 0) config.cases = options.cases;
  config.seed = required(parse_seed(options.seed), "--seed", options.seed, "a number below 2^64 or 'date'");
  if (!options.time.empty()) {
    config.time = required(parse_duration(options.time), "--time", options.time, "a duration such as 90s, 30m or 2h");
  }
  const PluginDescription* const plugin = loaded_plugin();
  config.kernel_glob = plugin != nullptr ? loaded_plugin_build() : options.kernel;
  config.law_glob = options.law;
  config.limits.kernels =
      plugin != nullptr ? std::vector{KernelId::plugin} : kernels_matching(options.kernel, backend_in_use());
  if (options.arch != "all") config.limits.arch = parse_arch(options.arch);
  config.limits.unit = options.sfu == "spec" ? sfu::UnitKind::spec : sfu::UnitKind::h200;
  config.limits.schedule = options.schedule == "random" ? Schedule::random : Schedule::lockstep;
  config.reference = *parse_reference_kind(options.reference);  // one of the two: IsMember
  config.jobs = options.jobs;
  return config;
}

RunContext context_of(const RunConfig& config, const CaseRunOptions& options) {
  RunContext context;
  context.version = kProjectVersion;
  context.commit = kBuildCommit;
  context.compiler = kBuildCompiler;
  context.flags = kBuildFlags;
  context.sfu_table_digest = fmt::format("{:016x}", sfu::table_digest());
  context.profile = config.profile;
  context.backend = options.backend;
  context.arch = options.arch;
  context.unit = options.backend == "cuda" ? "hardware" : options.sfu;
  context.schedule = options.schedule;
  context.reference = options.reference;
  context.kernel_glob = config.kernel_glob;
  context.law_glob = config.law_glob;
  context.seed = config.seed;
  context.cases_requested = config.cases;
  context.shard = format_shard(config.shard);
  if (loaded_plugin() != nullptr) {
    context.backend = std::string(kPluginBackend) + options.plugin;
    context.arch = "any";
    context.unit = "hardware";
    context.schedule = "its own";
  }
  return context;
}

[[noreturn]] void refuse_kernel_glob(const std::string& glob) {
  throw CLI::ValidationError("--kernel",
                             fmt::format("no kernel of the {} backend matches '{}'; `lsecheck list kernels` names them",
                                         name_of(backend_in_use()), glob));
}

// The largest case of the sequence must fit; found out before anything runs.
void check_memory(const RunConfig& config, std::uint64_t limit) {
  // A case is held as packed and unpacked tensors, its edits and grades: about six times its unpacked partials.
  constexpr std::uint64_t kBytesPerElement = 24;
  const std::uint64_t looked_at = std::min<std::uint64_t>(config.cases, 20'000);  // the decks repeat long before
  for (std::uint64_t i = config.first_case; i < config.first_case + looked_at; ++i) {
    const CaseSpec spec = draw_spec(config.seed, i, config.limits);
    const std::uint64_t bytes =
        spec.rows_heads() * spec.num_partitions * spec.ov_depth * kBytesPerElement * config.jobs;
    if (bytes > limit) {
      throw CLI::ValidationError(
          "--memory", fmt::format("case {} ({}) needs about {} MiB on {} jobs; allow more or use fewer --jobs", i,
                                  describe_spec(spec), (bytes >> 20) + 1, config.jobs));
    }
  }
}

// The device decides what the CPU takes from options: the chip, the unit, the order of threads.
void choose_cuda(CaseRunOptions& options) {
  const cuda::Device& device = cuda_device_or_exit("--backend cuda");
  if (options.sfu == "spec") {
    throw CLI::ValidationError("--sfu", "spec is an adversary on the CPU; with --backend cuda the device's unit runs");
  }
  if (options.schedule == "random") {
    throw CLI::ValidationError("--schedule",
                               "random is an order on the CPU; with --backend cuda the device has its own");
  }
  if (options.arch != "all" && options.arch != name_of(device.arch)) {
    throw CLI::ValidationError("--arch", fmt::format("{}: the device is {}", options.arch, cuda::describe(device)));
  }
  options.arch = name_of(device.arch);
  use_backend(Backend::cuda);
  fmt::print(stderr, "lsecheck: on {}\n", cuda::describe(device));
}

}  // namespace

void add_plugin_option(CLI::App& command, std::string& file) {
  command
      .add_option("--plugin", file,
                  "run the kernel of this shared object, which properties/plugin/lsecheck_plugin.h says how to make")
      ->type_name("FILE")
      ->check(names_something);
  command.parse_complete_callback([&command, &file] {
    if (file.empty()) return;
    // What a plugin decides itself, or what is known of this program's kernels alone.
    for (const char* const name : {"--kernel", "--backend", "--arch", "--sfu", "--schedule", "--explain",
                                   "--update-frozen", "--update-distribution"}) {
      const CLI::Option* const other = command.get_option_no_throw(name);
      if (other != nullptr && other->count() > 0) {
        throw CLI::ValidationError(name, "is not for plugins; leave it or --plugin out");
      }
    }
  });
}

std::string names_something(const std::string& text) {
  return text.empty() ? "it is empty; name a file or folder, or leave the option out" : "";
}

void add_isolation_options(CLI::App& command, IsolationOptions& options) {
  command.add_flag("--isolate,!--no-isolate", options.isolate,
                   "run each kernel in processes of its own, so that one that crashes, hangs or eats memory fails and "
                   "the rest of the run completes (default on the cpu); --no-isolate: on threads, for a debugger");
  add_case_timeout_option(command, options.case_timeout);
}

void add_case_timeout_option(CLI::App& command, std::string& text) {
  command.add_option("--case-timeout", text, "how long a case may take before the process of its kernel is killed")
      ->type_name("T")
      ->capture_default_str();
}

WorkerLimits worker_limits(const std::string& case_timeout, std::uint64_t memory) {
  const auto time =
      required(parse_duration(case_timeout), "--case-timeout", case_timeout, "a duration such as 90s, 30m or 2h");
  if (time.count() == 0) throw CLI::ValidationError("--case-timeout", "0 lets no case end; give some seconds");
  // What the limit counts is address space, of which the executor's threads reserve more than they use.
  constexpr std::uint64_t kReserved = std::uint64_t{1} << 30;
  return {time, memory + kReserved};
}

std::optional<WorkerLimits> isolation_of(const IsolationOptions& options, std::uint64_t memory) {
  const WorkerLimits limits = worker_limits(options.case_timeout, memory);
  return options.isolate ? std::optional(limits) : std::nullopt;
}

void add_case_run_options(CLI::App& command, CaseRunOptions& options) {
  command.add_option("--kernel", options.kernel, "kernels whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command.add_option("--law", options.law, "laws whose name matches this pattern")
      ->type_name("GLOB")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "start of the case sequence; 'date' is today's UTC date as a number")
      ->type_name("N|date")
      ->capture_default_str();
  command.add_option("--cases", options.cases, "length of the case sequence (default: the profile's)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command.add_option("--time", options.time, "stop at the first batch boundary after this long: 90s, 30m, 2h")
      ->type_name("T");
  command.add_option("--shard", options.shard, kShardHelp)->type_name("i/n");
  command.add_option("--backend", options.backend, "where the kernels run: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_device_timeout_option(command, options.device_timeout);
  command.add_option("--arch", options.arch, "chip whose rules hold: sm_90, sm_100a, sm_103a, or all in turn")
      ->check(CLI::IsMember({"all", "sm_90", "sm_100a", "sm_103a"}))
      ->capture_default_str();
  command
      .add_option("--sfu", options.sfu,
                  "special-function unit: h200 as measured, or spec, an adversary within the PTX ISA")
      ->check(CLI::IsMember({"h200", "spec"}))
      ->capture_default_str();
  command.add_option("--schedule", options.schedule, "order of a block's threads between collectives")
      ->check(CLI::IsMember({"lockstep", "random"}))
      ->capture_default_str();
  command
      .add_option("--reference", options.reference,
                  "what decides verdicts: certified, the fast one, or exact; both give the same")
      ->check(CLI::IsMember({"certified", "exact"}))
      ->capture_default_str();
  command.add_option("--jobs", options.jobs, "threads that cases are spread over; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  command
      .add_option("--memory", options.memory,
                  "refuse cases that need more; the process of a kernel may take this and 1G")
      ->type_name("SIZE")
      ->capture_default_str();
  add_isolation_options(command, options.isolation);
}

PreparedRun prepare_run(CaseRunOptions options, const std::string& failure_directory) {
  apply_device_timeout(options.device_timeout);
  if (options.backend == "cuda") choose_cuda(options);
  PreparedRun prepared;
  prepared.config = config_of(options);
  RunConfig& config = prepared.config;
  config.failure_directory = failure_directory;
  if (config.limits.kernels.empty()) refuse_kernel_glob(config.kernel_glob);
  try {
    matching_laws(config.law_glob);
  } catch (const std::invalid_argument& error) {
    throw CLI::ValidationError("--law", error.what());
  }
  prepared.memory_limit =
      required(parse_bytes(options.memory), "--memory", options.memory, "a size such as 512M or 4G");
  check_memory(config, prepared.memory_limit);
  if (options.backend == "cpu") config.isolation = isolation_of(options.isolation, prepared.memory_limit);
  if (!failure_directory.empty()) check_folder_writable(failure_directory);
  if (options.seed == "date") fmt::print(stderr, "lsecheck: --seed date is {}\n", config.seed);
  const ShardChoice choice = choose_shard(options.shard, environment_variable);
  config.shard = choice.shard;
  if (!choice.source.empty()) {
    fmt::print(stderr, "lsecheck: shard {} by {}\n", format_shard(choice.shard), choice.source);
  }
  prepared.context = context_of(config, options);
  return prepared;
}

}  // namespace lsecheck::cli
