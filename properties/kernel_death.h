#pragma once

#include <string>

#include "properties/results.h"
#include "properties/worker_pool.h"

// A kernel that brought its process down, as failures tell of it.
namespace lsecheck {

// "the process that ran the kernel crashed: Segmentation fault". The answer is a death.
std::string kernel_death(const WorkerAnswer& answer);

// Whether that is what the failure, of a case of the sequence, tells.
bool is_kernel_death(const Failure& failure);

}  // namespace lsecheck
