#include "kernels/simt/fiber_cache.h"

#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace lsecheck::simt {
namespace {

// Nine cache lines beyond a power of two: at equal distances of 64 KiB the tops of all stacks would share one cache
// set.
constexpr std::size_t kStackBytes = (fiber_sanitizer::kActive ? 256 * 1024 : 64 * 1024) + 9 * 64;

// The fibers of OS threads that have ended. Never destroyed: an OS thread may end after all else.
struct LeftBehind {
  std::mutex mutex;
  std::vector<KeptFiber> fibers;
};

LeftBehind& left_behind() {
  static LeftBehind& all = *new LeftBehind;
  return all;
}

std::optional<KeptFiber> last_of(std::vector<KeptFiber>& fibers) {
  if (fibers.empty()) return std::nullopt;
  KeptFiber last = std::move(fibers.back());
  fibers.pop_back();
  return last;
}

}  // namespace

FiberCache& FiberCache::of_this_thread() {
  thread_local FiberCache cache;
  return cache;
}

FiberCache::~FiberCache() {
  const std::lock_guard lock(left_behind().mutex);
  for (KeptFiber& kept : free_) left_behind().fibers.push_back(std::move(kept));
}

KeptFiber FiberCache::take(Loop loop) {
  if (auto kept = last_of(free_)) return std::move(*kept);
  {
    const std::lock_guard lock(left_behind().mutex);
    if (auto kept = last_of(left_behind().fibers)) return std::move(*kept);
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
