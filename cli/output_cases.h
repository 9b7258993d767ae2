#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "properties/case_draw.h"
#include "properties/case_file.h"
#include "properties/case_outputs.h"

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
};

void add_output_options(CLI::App& command, OutputOptions& options);

class OutputCases {
 public:
  // Throws CLI::ValidationError for a kernel pattern that matches nothing, FileError.
  explicit OutputCases(const OutputOptions& options);

  std::uint64_t count() const { return file_ ? 1 : options_.cases; }
  bool generated() const { return !file_; }
  OutputsHeader header() const;

  struct Case {
    CaseTensors tensors;
    CaseOutput output;
  };
  // Cases [begin, end), on the jobs of the options.
  std::vector<Case> run(std::uint64_t begin, std::uint64_t end) const;

 private:
  Case run_case(std::uint64_t case_index) const;

  OutputOptions options_;
  DrawLimits limits_;
  std::optional<CaseFile> file_;
};

// How many cases are run before they are printed or compared.
inline constexpr std::uint64_t kOutputBatch = 64;

}  // namespace lsecheck::cli
