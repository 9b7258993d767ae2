#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/cuda/cuda_check.h"

// What one launch needs and the next one can use again: a stream, device memory and page-locked memory of the same size
// to copy from and to.
namespace lsecheck::cuda {

class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Contents are lost.
  void reserve(std::size_t bytes);
  void release_memory();
  std::size_t capacity() const { return capacity_; }

  cudaStream_t stream() const { return stream_.get(); }
  std::byte* device() const { return device_; }
  std::byte* sent() const { return sent_; }          // what is copied to the device
  std::byte* received() const { return received_; }  // what came back

  void send(std::size_t bytes) const;
  // after: what runs before it in the stream, for the message: its errors may show here.
  void receive(std::size_t bytes, const std::string& after) const;

 private:
  Stream stream_;
  std::byte* device_ = nullptr;
  std::byte* sent_ = nullptr;
  std::byte* received_ = nullptr;
  std::size_t capacity_ = 0;
};

// A workspace that no other thread has until this object ends.
class BorrowedWorkspace {
 public:
  explicit BorrowedWorkspace(std::size_t bytes);
  ~BorrowedWorkspace();
  BorrowedWorkspace(const BorrowedWorkspace&) = delete;
  BorrowedWorkspace& operator=(const BorrowedWorkspace&) = delete;

  Workspace* operator->() const { return workspace_.get(); }
  Workspace& operator*() const { return *workspace_; }

 private:
  std::unique_ptr<Workspace> workspace_;
  int exceptions_before_;
};

}  // namespace lsecheck::cuda
