#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/combine_kernel.h"

// The kernels on an NVIDIA GPU, behind plain C++: no CUDA header, the same declarations whether or not this build holds
// CUDA kernels (cuda_backend_stub.cpp stands in where it does not). The runtime library is linked statically, so a
// program starts without a driver too and asks availability() before anything else.
namespace lsecheck::cuda {

struct Device {
  std::string name;  // "NVIDIA H200"
  Arch arch = Arch::sm_90;
  int major = 0;  // compute capability
  int minor = 0;
  int sm_count = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::string driver;       // the newest CUDA version that the driver knows: "13.0"
  std::string toolkit;      // what the kernels were built with: "13.0"
  int visible_devices = 1;  // of this process, itself among them
};

// "NVIDIA H200 (compute capability 9.0, 132 SMs), driver for CUDA 13.0, kernels built with CUDA 13.0".
std::string describe(const Device& device);

struct Availability {
  std::optional<Device> device;
  std::string reason;  // without a usable device: one line, "no NVIDIA driver: ..."
};

// Looked up once, device 0 of those visible (CUDA_VISIBLE_DEVICES).
const Availability& availability();

// The device, the driver or the launch failed; nothing is said about the kernel's results. Every later call may fail
// the same way: an illegal access leaves the process without a usable context.
class DeviceError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t { unavailable, launch, illegal_access, timeout, out_of_memory, other };
  DeviceError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// "fa4_splitk_combine<bf16, bf16, 128, 37>" of every kernel in the fat binary; empty in a build without CUDA kernels.
std::vector<std::string> compiled_kernels();

// Copies the buffers to the device, runs the variant (as the consumer of a programmatic dependent launch, where it
// waits as one), copies the output back. kernel: the registered name. A changed input or a byte written around the
// output is a fault; trouble with the device throws DeviceError, as does a launch that takes longer than
// launch_time_limit() (launch_deadline.h). Any number of threads may call it at once. row_offsets: of ragged variants,
// whose partials are padded (mla_launch.h).
std::optional<simt::Fault> launch(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                                  const CombineBuffers& buffers, std::span<const std::uint32_t> row_offsets = {});

}  // namespace lsecheck::cuda
