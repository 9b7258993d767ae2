#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench_cuda.h"
#include "cli/commands.h"
#include "kernels/simt/device_api.h"
#include "properties/case_expand.h"
#include "properties/grade_case.h"
#include "properties/run_case.h"

namespace lsecheck::cli {
namespace {

struct BenchOptions {
  std::string backend = "cpu";
  int num_partitions = 37;
  int ov_depth = 128;
  int repeats = 5;
};

// The median of several timed runs, in seconds.
double median_seconds(int repeats, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

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

double exact_seconds(const BenchOptions& options, const CaseTensors& tensors, const std::vector<std::uint32_t>& bits) {
  const auto reference = make_exact_reference();
  const KernelVariant variant = variant_of(tensors.spec);
  return median_seconds(options.repeats, [&] { grade_output(tensors, variant, bits, *reference); }) /
         static_cast<double>(tensors.spec.rows_heads());
}

// N[d] and sum w abs(a) of every row in plain Boost.Multiprecision at 256 bits: what the reference is compared with.
double boost_256_seconds(const BenchOptions& options, const CaseTensors& tensors) {
  using Real = boost::multiprecision::number<
      boost::multiprecision::mpfr_float_backend<77, boost::multiprecision::allocate_stack>>;
  const CaseSpec& spec = tensors.spec;
  return median_seconds(options.repeats,
                        [&] {
                          for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
                            std::vector<Real> sum(spec.ov_depth);
                            std::vector<Real> size(spec.ov_depth);
                            for (std::size_t p = 0; p < spec.num_partitions; ++p) {
                              const Real weight = exp2(Real(tensors.lse_partial[tensors.lse_index(p, rh)]));
                              for (std::size_t d = 0; d < spec.ov_depth; ++d) {
                                const double value = decode(spec.partial, tensors.o_partial[tensors.o_index(p, rh, d)]);
                                sum[d] += weight * value;
                                size[d] += weight * std::abs(value);
                              }
                            }
                          }
                        }) /
         static_cast<double>(spec.rows_heads());
}

void bench(const BenchOptions& options) {
  if (options.backend == "cuda") return bench_cuda(options.repeats);
  const double lockstep = executor_seconds(options, Schedule::lockstep);
  const double random = executor_seconds(options, Schedule::random);
  const double shuffles = shuffle_seconds(options);
  const CaseTensors tensors = expand(bench_spec(options, 20));
  const std::vector<std::uint32_t> bits = run_kernel(tensors).out_bits;
  const double exact = exact_seconds(options, tensors, bits);
  const double boost = boost_256_seconds(options, tensors);

  fmt::print("P = {}, D = {}, bf16 <- bf16, one thread, median of {}\n\n", options.num_partitions, options.ov_depth,
             options.repeats);
  fmt::print("{:<46}{:>14}{:>18}\n", "", "us/row-head", "row-heads/s");
  const auto line = [](const char* name, double seconds) {
    fmt::print("{:<46}{:>14.2f}{:>18.0f}\n", name, seconds * 1e6, 1 / seconds);
  };
  line("executor, lockstep, all checks", lockstep);
  line("executor, random schedule, all checks", random);
  line("the kernel's warp shuffles alone", shuffles);
  line("exact reference, every metric", exact);
  line("Boost.Multiprecision MPFR 256 bits, N and C", boost);
  fmt::print("\nexecutor / its shuffles alone   {:.2f}\nBoost 256 bits / exact reference {:.2f}\n", lockstep / shuffles,
             boost / exact);
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
  command->callback([options] { bench(*options); });
}

}  // namespace lsecheck::cli
