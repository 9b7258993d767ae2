#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "cli/progress_line.h"
#include "properties/case_kernel.h"
#include "properties/certify/certify_run.h"

namespace lsecheck::cli {
namespace {

using certify::Findings;
using certify::Largest;
using certify::Plan;
using certify::Result;

constexpr std::uint64_t kCpuRows = 4096;
constexpr std::uint64_t kCudaRows = 8'000'000;

struct CertifyOptions {
  std::string backend = "cpu";
  Plan plan{.sequence = {}, .rows = 0, .verify = 100};
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string device_timeout = "60s";
};

void print_largest(const char* metric, const Largest& largest, const Plan& plan) {
  const std::string place =
      largest.value == 0 ? "" : fmt::format("{}, d {}", place_of(plan.sequence, largest.row), largest.column);
  fmt::print("  {:<12}{:<14}{}\n", metric, fmt::format("{:.6g}", largest.value), place);
}

void print_findings(const char* what, const Findings& findings) {
  for (const std::string& line : findings.first) fmt::print("{} {}\n", what, line);
  if (findings.count > findings.first.size()) {
    fmt::print("{} {} more\n", what, findings.count - findings.first.size());
  }
}

void print_result(const Plan& plan, const Result& result) {
  const auto count = [](const char* name, std::uint64_t n, const std::string& remark = "") {
    fmt::print("{:<14}{:>16}{}{}\n", name, n, remark.empty() ? "" : "  ", remark);
  };
  count("rows", plan.rows);
  count("elements", result.elements);
  count("certified", result.certified,
        fmt::format("within the sharper bound, {} of them by the second tier", result.second_tier));
  count("undecided", result.undecided(),
        result.unlisted_rows == 0 ? "" : fmt::format("in {} rows too many to bring back", result.unlisted_rows));
  count("failing", result.failing);
  count("compared", result.compared_elements,
        fmt::format("in {} rows with the certified reference, metric by metric: {} disagreements", result.compared_rows,
                    result.disagreements.count));
  fmt::print("largest seen\n");
  print_largest("ulp", result.largest[certify::kUlp], plan);
  print_largest("scaled_ulp", result.largest[certify::kScaledUlp], plan);
  print_largest("bound_use", result.largest[certify::kBoundUse], plan);
  fmt::print("drawn, combined and certified in {:.4g} s: {:.4g} elements/s\n", result.seconds,
             static_cast<double>(result.elements) / result.seconds);
  print_findings("FAILS", result.failures);
  print_findings("DISAGREES", result.disagreements);
  fmt::print("{}\n", result.is_clean() ? "CERTIFIED" : "NOT CERTIFIED");
}

void refuse_bad_shape(const Plan& plan) {
  const CaseSpec spec = plan.sequence.case_of(0);
  if (const auto refusal = kernel_of(spec).refuse(shape_of(spec))) throw CLI::ValidationError("certify", *refusal);
}

void certify_command(const CertifyOptions& options) {
  const bool on_device = options.backend == "cuda";
  Plan plan = options.plan;
  if (plan.rows == 0) plan.rows = on_device ? kCudaRows : kCpuRows;
  refuse_bad_shape(plan);
  apply_device_timeout(options.device_timeout);
  const std::string where =
      on_device ? cuda::describe(cuda_device_or_exit("certify --backend cuda")) : "cpu, unit h200";
  fmt::print("{}\nfa4_splitk_combine, P = {}, D = {}, bf16<-f32, LSEs narrow, values normal, seed {}, generator {}\n\n",
             where, plan.sequence.num_partitions, plan.sequence.ov_depth, plan.sequence.seed, kGeneratorVersion);
  std::fflush(stdout);

  const auto certifier = on_device ? certify::make_cuda_certifier(plan.sequence)
                                   : certify::make_cpu_certifier(plan.sequence, options.jobs);
  ProgressLine progress;
  const Result result = certify_rows_of(plan, *certifier, [&](std::uint64_t rows) {
    if (progress.due()) progress.show(fmt::format("{} of {} rows", rows, plan.rows));
  });
  progress.end();
  print_result(plan, result);
  if (!result.is_clean()) throw ExitWith{kFailed};
}

}  // namespace

void add_certify_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "certify", "certify fa4_splitk_combine's bf16 outputs on many ordinary rows, drawn and judged where they run");
  const auto options = std::make_shared<CertifyOptions>();
  Plan& plan = options->plan;
  command
      ->add_option("--backend", options->backend,
                   "cuda: nothing but doubtful rows leaves the device; cpu: the executor")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--rows", plan.rows, fmt::format("default: {} on cuda, {} on cpu", kCudaRows, kCpuRows))
      ->check(CLI::Range(std::uint64_t{1}, certify::kMaxRows));
  command->add_option("--seed", plan.sequence.seed, "starts another sequence of rows")->capture_default_str();
  command
      ->add_option("--verify", plan.verify,
                   "rows, spread evenly, that are compared with the executor and the certified reference")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("-P,--partitions", plan.sequence.num_partitions, "partitions of a row")->capture_default_str();
  command->add_option("-D,--depth", plan.sequence.ov_depth, "elements of a row")->capture_default_str();
  command->add_option("--jobs", options->jobs, "threads on the cpu; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  add_device_timeout_option(*command, options->device_timeout);
  command->footer(
      "An element is certified when an enclosure of its exact value in double arithmetic puts it within the bound of\n"
      "the measured special-function unit; what stays open is graded by the certified reference. The rows are those "
      "of\n"
      "cases 0, 1, 2, ... with 256 row-heads each and the seeds (SEED << 32) + 0, 1, 2, ...; `lsecheck repro` runs "
      "one.\n"
      "examples:\n"
      "  lsecheck certify                                              some rows, in seconds\n"
      "  lsecheck certify --backend cuda --rows 100000000 --verify 1000\n"
      "exit codes: 0 every element is certified; 1 some are not, or a comparison differs; 4 no usable device");
  command->callback([options] { certify_command(*options); });
}

}  // namespace lsecheck::cli
