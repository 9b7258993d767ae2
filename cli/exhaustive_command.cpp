#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "kernels/pair_sweep.h"

namespace lsecheck::cli {
namespace {

constexpr std::array<const char*, 2> kKernels{"fa4_splitk_combine", "mla_combine_split_parallel"};

struct Options {
  std::string backend = "cpu";
  std::uint32_t stride = 65521;  // a prime: every bit of the mantissa varies
};

void print_maxima(const char* region, const std::array<PairMaximum, kPairColumns>& maxima, const std::string& label) {
  for (std::size_t i = 0; i < kPairColumns; ++i) {
    fmt::print("  {:<20}{:<10}{:>14.6g}  at {:<24}{}\n", region,
               fmt::format("({:g},{:g})", kPairValues[i][0], kPairValues[i][1]), maxima[i].scaled_ulp,
               fmt::format("{:#010x} ({:.6g})", maxima[i].lse_1_bits, std::bit_cast<float>(maxima[i].lse_1_bits)),
               label);
  }
}

// Prints one kernel's table; whether its special values hold.
bool sweep(const char* kernel, const Options& options) {
  const bool on_gpu = options.backend == "cuda";
  const PairSweepResult result = on_gpu ? cuda::sweep_pairs(kernel) : sweep_pairs_on_cpu(kernel, options.stride);
  const std::string label = on_gpu ? "exhaustive over lse_1 for lse_0 = 0 and these values"
                                   : fmt::format("largest seen, stride {}", options.stride);
  fmt::print("{}, P = 2, lse_0 = 0, f32: {} finite lse_1, {} others\n", kernel, result.finite, result.special);
  fmt::print("  {:<20}{:<10}{:>14}\n", "lse_1", "values", "scaled_ulp");
  print_maxima("abs(lse_1) <= 100", result.ordinary, label);
  print_maxima("finite", result.all, label);
  fmt::print("  NaN and +-Inf outside the contract: {}; rows whose columns of equal values differ: {}\n\n",
             result.special_violations, result.column_mismatches);
  std::fflush(stdout);
  return result.special_violations == 0 && result.column_mismatches == 0;
}

void exhaustive(const Options& options) {
  if (options.backend == "cuda") {
    fmt::print("{}\n\n", cuda::describe(cuda_device_or_exit("exhaustive --backend cuda")));
  }
  bool holds = true;
  for (const char* kernel : kKernels) holds = sweep(kernel, options) && holds;
  if (!holds) throw ExitWith{kFailed};
}

}  // namespace

void add_exhaustive_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "exhaustive", "two partitions over every f32 as the second LSE: the true maximum of the error of a weight");
  const auto options = std::make_shared<Options>();
  command->add_option("--backend", options->backend, "cpu: every --stride-th value; cuda: all 2^32")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--stride", options->stride, "distance of the bit patterns taken on the cpu")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{0x7fffffff}))
      ->capture_default_str();
  command->footer(
      "scaled_ulp is a proven upper bound on the error in ulps of sum w abs(a), within 2^-25 ulp of it.\n"
      "examples:\n"
      "  lsecheck exhaustive                  a sample, in seconds\n"
      "  lsecheck exhaustive --backend cuda   every value, in about a minute\n"
      "exit codes: 0 special values act as the contract says; 1 some do not; 4 no usable device");
  command->callback([options] { exhaustive(*options); });
}

}  // namespace lsecheck::cli
