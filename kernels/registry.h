#pragma once

#include <span>
#include <string_view>

#include "kernels/combine_kernel.h"

namespace lsecheck {

std::span<const CombineKernel* const> registered_kernels();
// Among those, and a KernelBeside; nullptr when no kernel has that name.
const CombineKernel* find_kernel(std::string_view name);

// As long as it lives, `kernel` stands in the place of the registered one of its name. One at a time; made and ended
// while nothing else looks at the registry.
class KernelInPlace {
 public:
  // Throws std::invalid_argument where no kernel has that name.
  explicit KernelInPlace(const CombineKernel& kernel);
  ~KernelInPlace();
  KernelInPlace(const KernelInPlace&) = delete;
  KernelInPlace& operator=(const KernelInPlace&) = delete;

 private:
  const CombineKernel** place_;
  const CombineKernel* before_;
};

// As long as it lives, find_kernel() knows `kernel`, too, which bears a name of its own. One at a time, likewise.
class KernelBeside {
 public:
  explicit KernelBeside(const CombineKernel& kernel);
  ~KernelBeside();
  KernelBeside(const KernelBeside&) = delete;
  KernelBeside& operator=(const KernelBeside&) = delete;
};

}  // namespace lsecheck
