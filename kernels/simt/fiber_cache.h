#pragma once

#include <boost/context/fiber.hpp>
#include <utility>
#include <vector>

#include "kernels/simt/fiber_sanitizer.h"

// A launch needs its fibers for microseconds. They are made once and kept, suspended, for later launches on the same OS
// thread, or on another when that has ended: a new fiber costs a stack and two switches, and a sanitizer maps megabytes
// of its own for each. They never end.
namespace lsecheck::simt {

struct KeptFiber {
  boost::context::fiber fiber;
  fiber_sanitizer::Stack stack;
};

class FiberCache {
 public:
  // Runs on the fiber from the first switch to it on, and does not return. Between two launches it may change the OS
  // thread.
  using Loop = boost::context::fiber (*)(boost::context::fiber&& from);

  static FiberCache& of_this_thread();
  FiberCache() = default;
  ~FiberCache();
  FiberCache(const FiberCache&) = delete;
  FiberCache& operator=(const FiberCache&) = delete;

  KeptFiber take(Loop loop);
  // Suspended in its loop, or not begun.
  void give_back(KeptFiber fiber) { free_.push_back(std::move(fiber)); }

 private:
  std::vector<KeptFiber> free_;
};

}  // namespace lsecheck::simt
