#include "properties/kernel_death.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

namespace lsecheck {
namespace {

constexpr std::string_view kSubject = "the process that ran the kernel ";

}  // namespace

const Law* law_at_death(const WorkerAnswer& answer, const std::vector<const Law*>& laws) {
  const bool marked = answer.mark != 0 && answer.mark - 1 <= std::numeric_limits<std::uint8_t>::max();
  const Law* const law = marked ? find_law(static_cast<std::uint8_t>(answer.mark - 1)) : nullptr;
  return law != nullptr ? law : laws.front();
}

std::string kernel_death(const WorkerAnswer& answer) {
  return std::string(kSubject) + answer.death;
}

bool is_kernel_death(const Failure& failure) {
  return failure.message.starts_with(kSubject);
}

std::string kernel_given_up(unsigned deaths) {
  return fmt::format("after {} cases that brought their process down this kernel is run no more", deaths);
}

}  // namespace lsecheck
