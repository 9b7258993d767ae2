#pragma once

#include <string>

#include "properties/runner.h"

namespace lsecheck {

// Whether a case brings a process down the way `death` was. Every call is a process of its own; after 400 of them (of a
// plugin 100), and after one that ran to a limit of time or memory, nothing is run any more and the answer is no.
class CrashAttempts {
 public:
  // The law and the reference outlive it.
  CrashAttempts(const Law& law, const WorkerAnswer& death, const WorkerLimits& limits, Reference& reference);

  bool operator()(const CaseTensors& tensors);

  // Why the case, as it is launched, is not made smaller: "not made smaller: ...". What died at a limit of time or
  // memory is not, for each attempt would run to that limit; nor is what does not die alone. Empty: it can be.
  std::string hindrance(const CaseTensors& tensors);

 private:
  const Law& law_;
  const WorkerAnswer death_;
  const WorkerLimits limits_;
  Reference& reference_;
  int tries_ = 0;
};

// The failure of a case of the run whose process died, made small by what dies likewise. Its case file goes to
// config.failure_directory. config.isolation holds a value.
Failure shrunk_crash(Failure failure, const WorkerAnswer& death, const RunConfig& config);

}  // namespace lsecheck
