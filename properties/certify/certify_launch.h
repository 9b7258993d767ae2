#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "properties/case_tensors.h"

// The kernel of certify_rows.cuh on the executor.
namespace lsecheck::certify {

struct ExecutedRows {
  std::size_t depth = 0;
  std::vector<std::uint32_t> verdicts;
  std::vector<std::uint32_t> grades;

  std::span<const std::uint32_t> verdict(std::size_t i) const;
  std::span<const std::uint32_t> grades_of(std::size_t i) const;
};

// Rows of a case of f32 partials without masses, given their bf16 outputs: the listed ones with all their grades, or,
// where none is listed, all of them and the verdicts alone. Throws std::runtime_error for a fault of the kernel.
ExecutedRows certify_on_executor(const CaseTensors& tensors, std::span<const std::uint32_t> output,
                                 std::span<const std::uint32_t> listed, unsigned jobs);

}  // namespace lsecheck::certify
