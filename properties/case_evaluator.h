#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "properties/runner.h"

// Where the cases of a run are evaluated: on threads of this process, or in processes that a kernel may bring down.
namespace lsecheck {

class CaseEvaluator {
 public:
  virtual ~CaseEvaluator() = default;
  // A stream: cases begin in this order, as far as there are jobs for them, and next() gives the results of the first
  // one that it has not given yet.
  virtual void begin(std::uint64_t begin, std::uint64_t end) = 0;
  virtual RunResults next() = 0;
  // The failure of a drawn case made small.
  virtual Failure shrink(const Failure& failure) = 0;
};

// The config outlives them.
std::unique_ptr<CaseEvaluator> make_threaded_cases(const RunConfig& config, const std::vector<const Law*>& laws);
// config.isolation holds a value; the backend is the CPU.
std::unique_ptr<CaseEvaluator> make_isolated_cases(const RunConfig& config, const std::vector<const Law*>& laws);

}  // namespace lsecheck
