#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/quantities.h"
#include "cli/repro_check.h"
#include "cli/run_options.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/laws.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/plugin/plugin_laws.h"
#include "properties/run_case.h"
#include "properties/runner.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck::cli {
namespace {

struct ReproOptions {
  std::string what;  // a token or a case file
  std::string save;
  std::string backend = "cpu";
  std::string device_timeout = "60s";
  std::string memory = "4G";
  bool explain = false;
  bool isolate = true;  // of the cpu backend
  std::string case_timeout = "120s";
  std::string plugin;
};

struct ReplayedCase {
  CaseTensors tensors;
  const Law* law = nullptr;
  std::string token;
};

[[noreturn]] void end_with(int code, const std::string& message) {
  fmt::print(stderr, "lsecheck: {}\n", message);
  throw ExitWith{code};
}

const Law& known_law(const Law* law, const std::string& name) {
  if (law == nullptr)
    end_with(kUsage, fmt::format("law '{}' is not known here; `lsecheck list laws` names them", name));
  return *law;
}

ReplayedCase from_token(const std::string& text, std::uint64_t memory) {
  const ParsedToken parsed = parse_token(text);
  if (const auto* malformed = std::get_if<MalformedToken>(&parsed)) end_with(kUsage, malformed->message);
  if (const auto* other = std::get_if<OtherGeneratorVersion>(&parsed)) {
    end_with(kOtherVersion,
             fmt::format("token of generator version {}, this is {}: it would expand to other bits here; "
                         "replay its .safetensors case file instead, or check out its version",
                         other->version, kGeneratorVersion));
  }
  const auto& token = std::get<Token>(parsed);
  const CaseSpec& spec = token.spec;
  const std::uint64_t bytes = spec.rows_heads() * spec.num_partitions * (std::uint64_t{spec.ov_depth} + 1) * 24;
  if (bytes > memory) {
    end_with(kUsage, fmt::format("the case needs about {} MiB; allow it with --memory {}M", (bytes >> 20) + 1,
                                 (bytes >> 20) + 1));
  }
  return {expand(spec), &known_law(find_law(token.law), std::to_string(token.law)), text};
}

ReplayedCase from_file(const std::string& path, std::uint64_t memory) {
  CaseFile file = load_case(path, memory);
  return {std::move(file.tensors), &known_law(find_law(file.law), file.law), file.token};
}

// The case's chip and unit must be the device's: its contract and its bound are theirs.
void choose_cuda(const CaseSpec& spec) {
  const cuda::Device& device = cuda_device_or_exit("--backend cuda");
  if (!kernel_of(spec).has_cuda_build()) {
    end_with(kUsage, fmt::format("--backend cuda: {} has no CUDA build; use --backend cpu", name_of(spec.kernel)));
  }
  if (spec.arch != device.arch || spec.unit.kind != sfu::UnitKind::h200) {
    end_with(kUsage, fmt::format("--backend cuda: the case is for {} with sfu {}, the device is {}; use --backend cpu",
                                 name_of(spec.arch), name_of(spec.unit.kind), cuda::describe(device)));
  }
  use_backend(Backend::cuda);
}

// A case of a plugin needs one, which alone can be loaded; any will do that takes its shape.
void check_plugin(const ReproOptions& options, const ReplayedCase& replay) {
  if (options.plugin.empty()) return;
  const KernelId kernel = replay.tensors.spec.kernel;
  if (kernel != KernelId::plugin) {
    end_with(kUsage, fmt::format("--plugin: the case is of {}; leave --plugin out", name_of(kernel)));
  }
  if (!says_something_of(replay.law->id, *loaded_plugin())) {
    end_with(kUsage, fmt::format("law {} says nothing of {}", replay.law->name, loaded_plugin()->name));
  }
}

void repro(const ReproOptions& options) {
  const auto memory = parse_bytes(options.memory);
  if (!memory)
    throw CLI::ValidationError("--memory", fmt::format("'{}' is not a size such as 512M or 4G", options.memory));
  const WorkerLimits limits = worker_limits(options.case_timeout, *memory);
  apply_device_timeout(options.device_timeout);
  const auto plugin = options.plugin.empty() ? nullptr : std::make_unique<const LoadedPlugin>(options.plugin);
  std::error_code no_file;  // nor is what is too long for a file's name
  const bool is_token = options.what.starts_with("lse") && !std::filesystem::exists(options.what, no_file);
  const ReplayedCase replay = is_token ? from_token(options.what, *memory) : from_file(options.what, *memory);
  check_plugin(options, replay);
  const CaseTensors tensors = bucketed(replay.tensors);
  if (options.backend == "cuda") choose_cuda(tensors.spec);
  if (!options.save.empty()) {
    save_case(options.save, {replay.tensors, std::string(replay.law->name), replay.token, kGeneratorVersion});
  }

  fmt::print("case     {}\nlaw      {}: {}\n", describe_spec(replay.tensors.spec), replay.law->name,
             replay.law->statement);
  const ReproCase repro{tensors, replay.law, options.explain};
  const bool isolated = options.isolate && options.backend == "cpu";
  const ReproAnswer answer = isolated ? check_isolated(repro, limits) : check_in_this_process(repro);
  fmt::print("{}", answer.description);
  const LawOutcome& outcome = answer.outcome;
  switch (outcome.status) {
    case LawOutcome::Status::fails:
      fmt::print("FAILS    {}\n", outcome.message);
      throw ExitWith{kFailed};
    case LawOutcome::Status::not_applicable:
      fmt::print("NOT REPRODUCED: the law says nothing about this case here: {}\n", outcome.message);
      break;
    case LawOutcome::Status::holds:
      fmt::print("NOT REPRODUCED: the law holds\n");
      break;
  }
  throw ExitWith{kNotReproduced};
}

}  // namespace

void add_repro_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("repro", "replay one case by its token or case file");
  const auto options = std::make_shared<ReproOptions>();
  command->add_option("TOKEN|FILE", options->what, "lse1-... as a failure prints it, or a .safetensors case file")
      ->required();
  command->add_option("--save", options->save, "write the case's tensors as a .safetensors file")->type_name("FILE");
  command->add_flag("--explain", options->explain,
                    "show the kernel's intermediate values beside the exact ones and each step's share of the error");
  command->add_option("--backend", options->backend, "where the kernel runs: cpu, or cuda for a failure found there")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_device_timeout_option(*command, options->device_timeout);
  command->add_option("--memory", options->memory, "refuse a case that needs more; its process may take this and 1G")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--isolate,!--no-isolate", options->isolate,
                    "run the case in a process of its own, so that a kernel that crashes, hangs or eats memory fails "
                    "(default on the cpu); --no-isolate: in this process, for a debugger");
  add_case_timeout_option(*command, options->case_timeout);
  add_plugin_option(*command, options->plugin);
  command->footer(
      "exit codes: 1 the failure is reproduced; 3 it is not; 125 the token is of another generator version\n"
      "examples:\n  lsecheck repro lse1-... --explain\n  lsecheck repro lsecheck-results/case-28-accuracy.safetensors\n"
      "  gdb --args lsecheck repro lse1-... --no-isolate\n"
      "  lsecheck repro --plugin ./libmine.so lse1-...");
  command->callback([options] { repro(*options); });
}

}  // namespace lsecheck::cli
