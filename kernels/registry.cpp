#include "kernels/registry.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/sm100/fa4_combine_kernel.h"
#include "kernels/sm100/fa4_ws_combine_kernel.h"
#include "kernels/sm100/mha_splitk_reduce_kernel.h"
#include "kernels/sm100/mla_combine_kernel.h"

namespace lsecheck {

namespace {

std::array<const CombineKernel*, 8>& table() {
  static std::array<const CombineKernel*, 8> kernels{&sm100::fa4_combine_kernel(),
                                                     &sm100::mla_combine_kernel(),
                                                     &sm100::mla_combine_split_parallel_kernel(),
                                                     &sm100::fa4_ws_intracta_combine_kernel(),
                                                     &sm100::fa4_ws_level1_combine_kernel(),
                                                     &sm100::fa4_ws_level2_reduce_scatter_write_kernel(),
                                                     &sm100::fa4_ws_two_level_combine_kernel(),
                                                     &sm100::mha_splitk_reduce_kernel()};
  return kernels;
}

const CombineKernel* kernel_beside = nullptr;

}  // namespace

std::span<const CombineKernel* const> registered_kernels() {
  return table();
}

KernelInPlace::KernelInPlace(const CombineKernel& kernel) {
  const auto found = std::find_if(table().begin(), table().end(),
                                  [&](const CombineKernel* known) { return known->name() == kernel.name(); });
  if (found == table().end()) throw std::invalid_argument("no kernel is named " + std::string(kernel.name()));
  place_ = &*found;
  before_ = std::exchange(*place_, &kernel);
}

KernelInPlace::~KernelInPlace() {
  *place_ = before_;
}

KernelBeside::KernelBeside(const CombineKernel& kernel) {
  kernel_beside = &kernel;
}

KernelBeside::~KernelBeside() {
  kernel_beside = nullptr;
}

const CombineKernel* find_kernel(std::string_view name) {
  for (const CombineKernel* kernel : registered_kernels()) {
    if (kernel->name() == name) return kernel;
  }
  return kernel_beside != nullptr && kernel_beside->name() == name ? kernel_beside : nullptr;
}

}  // namespace lsecheck
