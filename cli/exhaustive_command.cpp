#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "kernels/two_partition/two_partition_sweep.h"
#include "reports/file_output.h"

namespace lsecheck::cli {
namespace {

using two_partition::ColumnTally;
using two_partition::Kernel;
using two_partition::Largest;
using two_partition::SweepResult;

constexpr std::uint64_t kCpuStride = 262'147;  // a prime: some 16,000 rows, in every binade

struct ExhaustiveOptions {
  std::string kernel = "all";
  std::string backend = "cpu";
  std::string json;
  std::string device_timeout = "60s";
  std::uint64_t stride = 0;  // by the backend
};

std::string label_of(std::uint64_t stride) {
  return stride == 1 ? "exhaustive over lse_1 for lse_0 = 0 and these values" : fmt::format("stride {}", stride);
}

std::string pair_text(std::size_t column) {
  const ValuePair pair = value_pair(static_cast<int>(column));
  return fmt::format("({}, {})", pair.first, pair.second);
}

std::string reached_at(const Largest& largest) {
  return fmt::format("{:.8g} at {:#010x}", largest.value, largest.lse_bits);
}

void print_result(Kernel kernel, const SweepResult& result, std::uint64_t stride) {
  fmt::print("{}, f32<-f32, P = 2, lse_0 = 0: {}\n{} rows, in {} of them every output is NaN as lse_1 demands\n",
             name_of(kernel), label_of(stride), result.rows, result.nan_rows);
  fmt::print("  {:<9}{:>12}{:>11}{:>12}{:>12}  {:<30}{:<30}{:<30}{}\n", "values", "elements", "% correct", "zeros",
             "second tier", "ulp", "scaled_ulp", "steps", "bound_use");
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const ColumnTally& column = result.columns[i];
    const double correct = 100.0 * static_cast<double>(column.correctly_rounded) / static_cast<double>(column.graded);
    fmt::print("  {:<9}{:>12}{:>11.4f}{:>12}{:>12}  {:<30}{:<30}{:<30}{}\n", pair_text(i), column.graded, correct,
               column.zeros, column.left_double, reached_at(column.ulp), reached_at(column.scaled_ulp),
               reached_at(column.steps), reached_at(column.bound_use));
  }
  for (const two_partition::Failure& failure : result.failures) {
    const two_partition::OpenElement& element = failure.element;
    fmt::print("  FAILS lse_1 {:#010x} ({}), values {}: got {:#010x}, {}\n", element.lse_bits,
               std::bit_cast<float>(element.lse_bits), pair_text(element.column), element.out_bits,
               failure.wrong_class       ? "of a wrong class"
               : failure.grade.undecided ? "which the reference could not decide"
                                         : fmt::format("the exact value rounds to {:#010x}, bound_use {:.4g} > 1",
                                                       failure.grade.correctly_rounded, failure.grade.bound_use));
  }
  fmt::print("{}\n\n", result.failure_count == 0 ? "CLEAN: every element is within the kernel's bound"
                                                 : fmt::format("FAILED: {} elements", result.failure_count));
  std::fflush(stdout);
}

nlohmann::ordered_json json_of(const Largest& largest) {
  return {{"value", largest.value}, {"lse_1_bits", fmt::format("{:#010x}", largest.lse_bits)}};
}

nlohmann::ordered_json json_of(Kernel kernel, const SweepResult& result, std::uint64_t stride) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const ColumnTally& column = result.columns[i];
    columns.push_back({{"values", {value_pair(static_cast<int>(i)).first, value_pair(static_cast<int>(i)).second}},
                       {"elements", column.graded},
                       {"correctly_rounded", column.correctly_rounded},
                       {"zeros", column.zeros},
                       {"second_tier", column.left_double},
                       {"ulp", json_of(column.ulp)},
                       {"scaled_ulp", json_of(column.scaled_ulp)},
                       {"steps", json_of(column.steps)},
                       {"bound_use", json_of(column.bound_use)}});
  }
  return {{"kernel", name_of(kernel)},
          {"label", label_of(stride)},
          {"stride", stride},
          {"rows", result.rows},
          {"nan_rows", result.nan_rows},
          {"columns", columns},
          {"failures", result.failure_count}};
}

void exhaustive(const ExhaustiveOptions& options) {
  const bool on_device = options.backend == "cuda";
  apply_device_timeout(options.device_timeout);
  const std::uint64_t stride = options.stride > 0 ? options.stride : on_device ? 1 : kCpuStride;
  std::string where = "cpu, unit h200";
  if (on_device) where = cuda::describe(cuda_device_or_exit("exhaustive --backend cuda"));
  if (!options.json.empty())
    write_file_atomically(options.json, "");  // an unwritable file is found out before the work
  fmt::print("{}\n\n", where);
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  bool clean = true;
  for (const Kernel kernel : {Kernel::fa4, Kernel::split_parallel}) {
    if (options.kernel != "all" && options.kernel != name_of(kernel)) continue;
    const SweepResult result = two_partition::sweep(kernel, on_device ? Backend::cuda : Backend::cpu, stride);
    print_result(kernel, result, stride);
    kernels.push_back(json_of(kernel, result, stride));
    clean = clean && result.failure_count == 0;
  }
  if (!options.json.empty()) {
    const nlohmann::ordered_json all{{"schema", "lsecheck.exhaustive/1"}, {"backend", where}, {"kernels", kernels}};
    write_file_atomically(options.json, all.dump(2) + "\n");
  }
  if (!clean) throw ExitWith{kFailed};
}

}  // namespace

void add_exhaustive_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "exhaustive", "certify every weight that a combine can produce at P = 2, lse_0 = 0: lse_1 over every f32");
  const auto options = std::make_shared<ExhaustiveOptions>();
  command->add_option("--kernel", options->kernel, "fa4_splitk_combine, mla_combine_split_parallel or both")
      ->check(CLI::IsMember({"all", "fa4_splitk_combine", "mla_combine_split_parallel"}))
      ->capture_default_str();
  command->add_option("--backend", options->backend, "cuda certifies on the device; cpu is for a strided subset")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("--stride", options->stride,
                   fmt::format("every which bit pattern of lse_1; default: 1 on cuda, {} on cpu", kCpuStride))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  command->add_option("--json", options->json, "write the result")->type_name("FILE");
  add_device_timeout_option(*command, options->device_timeout);
  command->footer("exit codes: 0 every element is within its bound; 1 some are not; 4 no usable device");
  command->callback([options] { exhaustive(*options); });
}

}  // namespace lsecheck::cli
