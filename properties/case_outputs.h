#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case_tensors.h"

// The output bits of cases as text, by which two builds of lsecheck are compared:
//
//   lsecheck-outputs 1 generator=3 version=0.1.0 commit=0123456789ab kernels=fa4_splitk_combine,mla_combine
//   CASE TOKEN VARIANT BITS     hexadecimal, 4 or 8 digits an element
//   CASE TOKEN VARIANT ! FAULT  where the kernel did not run to its end
//   end CASES
namespace lsecheck {

struct OutputsHeader {
  int generator_version = 0;
  std::string version;
  std::string commit;
  std::string kernels;

  bool operator==(const OutputsHeader&) const = default;
};

struct CaseOutput {
  std::uint64_t case_index = 0;
  std::string token;  // one word; that of the case file where there is one, or "-"
  std::string variant;
  std::vector<std::uint32_t> out_bits;
  std::string fault;  // empty: it ran

  bool operator==(const CaseOutput&) const = default;
};

// Runs the case. tensors are as they are launched: bucketed(). An exception of the kernel is its fault; missing memory
// (std::bad_alloc) passes through.
CaseOutput output_of(const CaseTensors& tensors, std::uint64_t case_index, const std::string& token);

// Lines without their ends.
std::string format_header(const OutputsHeader& header);
std::string format_output(const CaseOutput& output, DType type);
std::string format_end(std::uint64_t cases);

// nullopt: not such a line.
std::optional<OutputsHeader> parse_header(std::string_view line);
std::optional<CaseOutput> parse_output(std::string_view line, DType type);

}  // namespace lsecheck
