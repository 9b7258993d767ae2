#pragma once

#include <string>

#include "properties/case_tensors.h"
#include "properties/laws.h"
#include "properties/worker_pool.h"

// The case of `repro` held to its law: in this process, or in one that the kernel may bring down.
namespace lsecheck::cli {

struct ReproCase {
  CaseTensors tensors;  // as they are launched
  const Law* law = nullptr;
  bool explain = false;
};

struct ReproAnswer {
  LawOutcome outcome;       // fails where the process died
  std::string description;  // lines: the largest errors, and the worst element taken apart where that is asked for
};

ReproAnswer check_in_this_process(const ReproCase& repro);
ReproAnswer check_isolated(const ReproCase& repro, const WorkerLimits& limits);

}  // namespace lsecheck::cli
