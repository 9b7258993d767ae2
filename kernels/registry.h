#pragma once

#include <span>
#include <string_view>

#include "kernels/combine_kernel.h"

namespace lsecheck {

std::span<const CombineKernel* const> registered_kernels();
// nullptr when no kernel has that name.
const CombineKernel* find_kernel(std::string_view name);

}  // namespace lsecheck
