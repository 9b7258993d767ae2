#pragma once

#include <string>

#include "properties/case_tensors.h"
#include "properties/laws.h"
#include "properties/worker_pool.h"

// Failures of cases that are given by their tensors and have no token, made small.
namespace lsecheck {

struct SmallCase {
  CaseTensors tensors;
  std::string
      message;  // of these tensors; its last line says how small they became, or why they are as they were given
};

// `given` failed the law, as `message` tells. Shrunk by what fails the law, too.
SmallCase shrunk_by_law(const CaseTensors& given, const std::string& message, const Law& law, Reference& reference);

// The law's process died so over `given`. Shrunk by what dies likewise, in processes of their own.
SmallCase shrunk_by_death(const CaseTensors& given, const WorkerAnswer& death, const Law& law,
                          const WorkerLimits& limits, Reference& reference);

}  // namespace lsecheck
