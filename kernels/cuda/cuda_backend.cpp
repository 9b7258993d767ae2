#include "kernels/cuda/cuda_backend.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device_combine.h"
#include "kernels/cuda/launch_deadline.h"

namespace lsecheck::cuda {

namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::optional<Arch> arch_of(int major, int minor) {
  if (major == 9 && minor == 0) return Arch::sm_90;
  if (major == 10 && minor == 0) return Arch::sm_100a;
  if (major == 10 && minor == 3) return Arch::sm_103a;
  return std::nullopt;
}

Availability unusable(const std::string& why) {
  return {std::nullopt, why};
}

// They are all in one fat binary, for the same chips.
const void* any_kernel() {
  const CombineShape shape{Arch::sm_90, 2, 1, 1, 128, DType::bf16, DType::bf16};
  return on_device("fa4_splitk_combine", shape, {"runtime", 0}).function;
}

Availability look_up() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return unusable("no NVIDIA driver: the library libcuda.so.1 is not there or does not load");
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    return unusable(fmt::format("the NVIDIA driver is for CUDA {}, the kernels need {} or newer", version_text(driver),
                                version_text(CUDART_VERSION)));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    return unusable("the NVIDIA driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)");
  }
  cudaDeviceProp properties{};
  const cudaError_t looked = status != cudaSuccess ? status : cudaGetDeviceProperties(&properties, 0);
  if (looked != cudaSuccess) {
    return unusable(fmt::format("the NVIDIA driver refuses its GPUs: {} ({})", cudaGetErrorString(looked),
                                cudaGetErrorName(looked)));
  }
  const auto arch = arch_of(properties.major, properties.minor);
  cudaFuncAttributes attributes{};
  const cudaError_t loaded = cudaFuncGetAttributes(&attributes, any_kernel());
  if (!arch || loaded == cudaErrorNoKernelImageForDevice || loaded == cudaErrorInvalidDeviceFunction) {
    return unusable(fmt::format("{} has compute capability {}.{}; the kernels are built for {}", properties.name,
                                properties.major, properties.minor, LSECHECK_CUDA_ARCHS));
  }
  if (loaded != cudaSuccess) {
    return unusable(fmt::format("{} does not load the kernels: {} ({})", properties.name, cudaGetErrorString(loaded),
                                cudaGetErrorName(loaded)));
  }
  return {Device{properties.name, *arch, properties.major, properties.minor, properties.multiProcessorCount,
                 static_cast<std::size_t>(properties.l2CacheSize), properties.totalGlobalMem, version_text(driver),
                 version_text(CUDART_VERSION), count},
          ""};
}

DeviceError::Kind kind_of(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
      return DeviceError::Kind::illegal_access;
    case cudaErrorLaunchTimeout:
      return DeviceError::Kind::timeout;
    case cudaErrorMemoryAllocation:
      return DeviceError::Kind::out_of_memory;
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorLaunchFailure:
      return DeviceError::Kind::launch;
    default:
      return DeviceError::Kind::other;
  }
}

}  // namespace

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw DeviceError(kind_of(status), fmt::format("CUDA error in {}: {} ({})", doing, cudaGetErrorString(status),
                                                 cudaGetErrorName(status)));
}

void wait_for(cudaStream_t stream, const std::string& what) {
  cudaError_t status = cudaErrorNotReady;
  const bool ended = ends_within(launch_time_limit(), [&] {
    status = cudaStreamQuery(stream);
    return status != cudaErrorNotReady;
  });
  if (ended) return check(status, what.c_str());
  throw DeviceError(DeviceError::Kind::timeout,
                    fmt::format("{} has not ended after {:g} s on the device", what,
                                std::chrono::duration<double>(launch_time_limit()).count()));
}

void require_device() {
  if (!availability().device) throw DeviceError(DeviceError::Kind::unavailable, availability().reason);
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, bytes), "allocating device memory");
}

DeviceMemory::~DeviceMemory() {
  cudaFree(data_);
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

const Availability& availability() {
  static const Availability found = look_up();
  return found;
}

}  // namespace lsecheck::cuda
