#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_check.h"

// Inside the CUDA backend only: a point in a stream whose time is taken.
namespace lsecheck::cuda {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace lsecheck::cuda
