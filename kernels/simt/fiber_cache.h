#pragma once

#include <boost/context/fiber.hpp>
#include <utility>
#include <vector>

#include "kernels/simt/fiber_sanitizer.h"

// A launch needs its fibers for microseconds. They are made once for each OS thread and kept, suspended, for its next
// launches: a new fiber costs a stack and two switches, and a sanitizer maps megabytes of its own for each.
namespace lsecheck::simt {

struct KeptFiber {
  boost::context::fiber fiber;
  fiber_sanitizer::Stack stack;
};

class FiberCache {
 public:
  // Runs on the fiber from the first switch to it on. When the OS thread ends every fiber is switched to once more, and
  // the cache says ending(): the loop has to return what switched to it, its last switch announced (fiber_sanitizer.h).
  using Loop = boost::context::fiber (*)(boost::context::fiber&& from);

  static FiberCache& of_this_thread();
  FiberCache() = default;
  ~FiberCache();
  FiberCache(const FiberCache&) = delete;
  FiberCache& operator=(const FiberCache&) = delete;

  KeptFiber take(Loop loop);
  // Suspended in its loop, or not begun.
  void give_back(KeptFiber fiber) { free_.push_back(std::move(fiber)); }
  bool ending() const { return ending_; }

 private:
  bool ending_ = false;
  std::vector<KeptFiber> free_;
};

}  // namespace lsecheck::simt
