#include "kernels/cuda/cuda_workspace.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace lsecheck::cuda {

namespace {

// Growing stops the whole device for a moment; most cases fit into this.
constexpr std::size_t kSmallestBytes = std::size_t{4} << 20;
// A workspace that grew beyond this for one large case gives its memory back.
constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> idle;
};

// Never destroyed: the driver may be gone by the time that static objects are.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

Workspace::~Workspace() {
  release_memory();
}

void Workspace::release_memory() {
  cudaFree(device_);
  cudaFreeHost(sent_);
  cudaFreeHost(received_);
  device_ = sent_ = received_ = nullptr;
  capacity_ = 0;
}

void Workspace::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  const std::size_t wanted = std::max(bytes + bytes / 2, kSmallestBytes);
  release_memory();
  const auto allocate = [wanted](auto function, const char* doing) {
    void* memory = nullptr;
    check(function(&memory, wanted), doing);
    return static_cast<std::byte*>(memory);
  };
  device_ = allocate([](void** to, std::size_t n) { return cudaMalloc(to, n); }, "allocating device memory");
  const auto page_locked = [](void** to, std::size_t n) { return cudaMallocHost(to, n); };
  sent_ = allocate(page_locked, "allocating page-locked memory");
  received_ = allocate(page_locked, "allocating page-locked memory");
  capacity_ = wanted;
}

void Workspace::send(std::size_t bytes) const {
  check(cudaMemcpyAsync(device_, sent_, bytes, cudaMemcpyHostToDevice, stream()), "copying to the device");
}

void Workspace::receive(std::size_t bytes, const std::string& after) const {
  check(cudaMemcpyAsync(received_, device_, bytes, cudaMemcpyDeviceToHost, stream()), after.c_str());
}

BorrowedWorkspace::BorrowedWorkspace(std::size_t bytes) : exceptions_before_(std::uncaught_exceptions()) {
  {
    const std::lock_guard lock(pool().mutex);
    if (!pool().idle.empty()) {
      workspace_ = std::move(pool().idle.back());
      pool().idle.pop_back();
    }
  }
  if (!workspace_) workspace_ = std::make_unique<Workspace>();
  workspace_->reserve(bytes);
}

// After an exception the workspace is left as it is: freeing its memory would wait for a device that hangs.
BorrowedWorkspace::~BorrowedWorkspace() {
  if (std::uncaught_exceptions() > exceptions_before_) {
    static_cast<void>(workspace_.release());
    return;
  }
  if (workspace_->capacity() > kKeptBytes) workspace_->release_memory();
  const std::lock_guard lock(pool().mutex);
  pool().idle.push_back(std::move(workspace_));
}

}  // namespace lsecheck::cuda
