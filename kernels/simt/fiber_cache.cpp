#include "kernels/simt/fiber_cache.h"

#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <cstddef>
#include <memory>

namespace lsecheck::simt {
namespace {

// Nine cache lines beyond a power of two: at equal distances of 64 KiB the tops of all stacks would share one cache
// set.
constexpr std::size_t kStackBytes = (fiber_sanitizer::kActive ? 256 * 1024 : 64 * 1024) + 9 * 64;

}  // namespace

FiberCache& FiberCache::of_this_thread() {
  thread_local FiberCache cache;
  return cache;
}

FiberCache::~FiberCache() {
  ending_ = true;
  fiber_sanitizer::Stack thread_stack;
  fiber_sanitizer::running(thread_stack);
  for (KeptFiber& kept : free_) {
    void* fake_stack = nullptr;
    fiber_sanitizer::start_switch(&fake_stack, kept.stack);
    kept.fiber = std::move(kept.fiber).resume();
    fiber_sanitizer::Stack ended_stack;
    fiber_sanitizer::finish_switch(fake_stack, ended_stack);
    fiber_sanitizer::ended(kept.stack, thread_stack);
  }
}

KeptFiber FiberCache::take(Loop loop) {
  if (!free_.empty()) {
    KeptFiber kept = std::move(free_.back());
    free_.pop_back();
    return kept;
  }
  boost::context::fixedsize_stack allocator(kStackBytes);
  const boost::context::stack_context stack = allocator.allocate();
  KeptFiber kept;
  kept.stack = {static_cast<std::byte*>(stack.sp) - stack.size, stack.size};
  fiber_sanitizer::created(kept.stack);
  kept.fiber = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                     allocator, loop);
  return kept;
}

}  // namespace lsecheck::simt
