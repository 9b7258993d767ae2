#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/bench_cuda.h"
#include "cli/bench_hunt.h"
#include "cli/bench_reference.h"
#include "cli/bench_seconds.h"
#include "cli/commands.h"
#include "fuzz/hunt_island.h"
#include "kernels/simt/device_api.h"
#include "properties/case_expand.h"
#include "properties/run_case.h"

namespace lsecheck::cli {
namespace {

struct BenchOptions {
  bool hunt = false;
  std::uint64_t evaluations = 2 * kIslandEvaluations;
  std::string backend = "cpu";
  int num_partitions = 37;
  int ov_depth = 128;
  int repeats = 5;
};

CaseSpec bench_spec(const BenchOptions& options, std::uint32_t rows) {
  CaseSpec spec;
  spec.num_partitions = static_cast<std::uint16_t>(options.num_partitions);
  spec.ov_depth = static_cast<std::uint16_t>(options.ov_depth);
  spec.rows = rows;
  spec.seed = 1;
  return spec;
}

// Seconds per row-head of the executor under a schedule, all checks on, one thread.
double executor_seconds(const BenchOptions& options, Schedule schedule) {
  constexpr std::uint32_t kRows = 1000;
  const CaseTensors tensors = expand(bench_spec(options, kRows));
  RunOptions run;
  run.schedule = schedule;
  return median_seconds(options.repeats, [&] { run_kernel(tensors, run); }) / kRows;
}

// The executor's floor: as many bare warp shuffles as the kernel makes, and nothing else.
double shuffle_seconds(const BenchOptions& options) {
  constexpr std::uint32_t kRows = 1000;
  simt::Launch launch;
  launch.kernel = "shuffles";
  launch.grid = {kRows, 1, 1};
  launch.block = {32, 1, 1};
  const int shuffles = options.num_partitions + 5 + 1;
  return median_seconds(options.repeats,
                        [&] {
                          simt::run(launch, [&] {
                            float value = 1;
                            for (int i = 0; i < shuffles; ++i) value = shuffle(value, 0);
                          });
                        }) /
         kRows;
}

void bench(const BenchOptions& options) {
  if (options.hunt) return bench_hunt(options.evaluations);
  if (options.backend == "cuda") return bench_cuda(options.repeats);
  const double lockstep = executor_seconds(options, Schedule::lockstep);
  const double random = executor_seconds(options, Schedule::random);
  const double shuffles = shuffle_seconds(options);

  fmt::print("P = {}, D = {}, bf16 <- bf16, one thread, median of {}\n\n", options.num_partitions, options.ov_depth,
             options.repeats);
  fmt::print("{:<46}{:>14}{:>18}\n", "", "us/row-head", "row-heads/s");
  const auto line = [](const char* name, double seconds) {
    fmt::print("{:<46}{:>14.2f}{:>18.0f}\n", name, seconds * 1e6, 1 / seconds);
  };
  line("executor, lockstep, all checks", lockstep);
  line("executor, random schedule, all checks", random);
  line("the kernel's warp shuffles alone", shuffles);
  fmt::print("\nexecutor / its shuffles alone   {:.2f}\n", lockstep / shuffles);
  bench_reference(options.num_partitions, options.ov_depth, options.repeats);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "measure the executor and the reference, as ratios in one run");
  const auto options = std::make_shared<BenchOptions>();
  command
      ->add_option("--backend", options->backend,
                   "cpu: the executor and the reference at P and D; cuda: the combine at fixed shapes against a copy")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--num-partitions", options->num_partitions, "P")
      ->check(CLI::Range(1, 160))
      ->capture_default_str();
  command->add_option("--ov-depth", options->ov_depth, "D")
      ->check(CLI::IsMember({64, 72, 80, 96, 128, 160, 192, 224, 256, 512}))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "timed runs, of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI::Option* const hunt =
      command->add_flag("--hunt", options->hunt,
                        "measure the worst-case hunter instead: against random rows, and the share of the bound");
  command
      ->add_option("--evaluations", options->evaluations,
                   "row-heads of each hunt, and as many random ones; rounded up to whole restarts of 4096")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str()
      ->needs(hunt);
  command->callback([options] { bench(*options); });
}

}  // namespace lsecheck::cli
