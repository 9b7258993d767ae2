#include "properties/kernel_death.h"

#include <string_view>

namespace lsecheck {
namespace {

constexpr std::string_view kSubject = "the process that ran the kernel ";

}  // namespace

std::string kernel_death(const WorkerAnswer& answer) {
  return std::string(kSubject) + answer.death;
}

bool is_kernel_death(const Failure& failure) {
  return failure.message.starts_with(kSubject);
}

}  // namespace lsecheck
