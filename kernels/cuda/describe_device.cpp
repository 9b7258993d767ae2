#include <fmt/format.h>

#include "kernels/cuda/cuda_backend.h"

namespace lsecheck::cuda {

std::string describe(const Device& device) {
  return fmt::format("{} (compute capability {}.{}, {} SMs), driver for CUDA {}, kernels built with CUDA {}",
                     device.name, device.major, device.minor, device.sm_count, device.driver, device.toolkit);
}

}  // namespace lsecheck::cuda
