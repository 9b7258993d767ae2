#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/laws.h"
#include "properties/results.h"
#include "properties/worker_pool.h"

// A kernel that brought its process down, as failures tell of it.
namespace lsecheck {

// What a worker marks before it holds a law; 0 is the mark of none.
constexpr std::uint32_t mark_of(LawId law) {
  return static_cast<std::uint32_t>(law) + 1;
}
// The law that was held when the worker died: the first of `laws` where none was, or where the kernel wrote over the
// mark.
const Law* law_at_death(const WorkerAnswer& answer, const std::vector<const Law*>& laws);

// "the process that ran the kernel crashed: Segmentation fault". The answer is a death.
std::string kernel_death(const WorkerAnswer& answer);
// Whether that is what the failure, of a case of the sequence, tells.
bool is_kernel_death(const Failure& failure);

// What is said of a kernel's cases behind so many deaths.
std::string kernel_given_up(unsigned deaths);

}  // namespace lsecheck
