#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

// Inside the CUDA backend only: return codes of the runtime as exceptions, and resources that free themselves.
namespace lsecheck::cuda {

// Throws DeviceError: "CUDA error in <doing>: <what the runtime says> (<its name>)".
void check(cudaError_t status, const char* doing);

// Until everything in the stream has run; throws DeviceError of kind timeout when that takes longer than
// launch_time_limit(). what: was launched there, for the message.
void wait_for(cudaStream_t stream, const std::string& what);

// Throws DeviceError where availability() has no device.
void require_device();

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

// A stream that waits for no other.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace lsecheck::cuda
