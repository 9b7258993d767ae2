#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/run_options.h"
#include "properties/case_draw.h"
#include "properties/case_file.h"
#include "properties/case_outputs.h"
#include "properties/worker_pool.h"

// The cases whose output bits `outputs` prints and `diff` compares.
namespace lsecheck::cli {

struct OutputOptions {
  std::string file;  // a case file; empty: generated cases
  std::string kernel = "*";
  std::uint64_t seed = 1;
  std::uint64_t cases = 2'000;
  std::string arch = "all";
  std::string sfu = "h200";
  std::string schedule = "lockstep";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  IsolationOptions isolation;
};

void add_output_options(CLI::App& command, OutputOptions& options);

class OutputCases {
 public:
  // Throws CLI::ValidationError for a kernel pattern that matches nothing or a time that is none, FileError.
  explicit OutputCases(const OutputOptions& options);
  OutputCases(const OutputCases&) = delete;  // workers hold on to it
  OutputCases& operator=(const OutputCases&) = delete;

  std::uint64_t count() const { return file_ ? 1 : options_.cases; }
  bool generated() const { return !file_; }
  OutputsHeader header() const;

  struct Case {
    CaseSpec spec;  // as it is launched
    CaseOutput output;
  };
  // Cases [begin, end), on the jobs of the options, batch behind batch. A case whose process dies has the death for its
  // fault; behind kDeathsUntilGivenUp of them the kernel's other cases have that.
  std::vector<Case> run(std::uint64_t begin, std::uint64_t end);
  // As they are launched.
  CaseTensors tensors(std::uint64_t case_index) const;

 private:
  CaseSpec drawn(std::uint64_t case_index) const;
  Case not_run(std::uint64_t case_index) const;
  CaseOutput output(std::uint64_t case_index) const;
  void run_isolated(std::vector<Case>& cases);
  void run_on_threads(std::vector<Case>& cases) const;
  void take(const WorkerAnswer& answer, Case& one);

  OutputOptions options_;
  DrawLimits limits_;
  std::optional<CaseFile> file_;  // its tensors as they are launched
  std::optional<WorkerPool> pool_;
  std::map<KernelId, unsigned> deaths_;
};

// How many cases are run before they are printed or compared.
inline constexpr std::uint64_t kOutputBatch = 64;

}  // namespace lsecheck::cli
