#include "kernels/cuda/launch_deadline.h"

#include <atomic>
#include <thread>

namespace lsecheck::cuda {

namespace {

// For the first while a waiting thread asks without pause: most launches end within it.
constexpr std::chrono::microseconds kAskWithoutPause{200};
constexpr std::chrono::microseconds kPause{50};

std::atomic<std::chrono::nanoseconds> limit_of_process{kDefaultLaunchTimeLimit};

}  // namespace

Timekeeper real_time() {
  return {[] { return std::chrono::steady_clock::now(); },
          [](std::chrono::nanoseconds length) { std::this_thread::sleep_for(length); }};
}

std::chrono::nanoseconds launch_time_limit() {
  return limit_of_process;
}

void set_launch_time_limit(std::chrono::nanoseconds limit) {
  limit_of_process = limit;
}

bool ends_within(std::chrono::nanoseconds limit, const std::function<bool()>& has_ended, const Timekeeper& time) {
  const auto start = time.now();
  for (;;) {
    // The clock is read first: the last question is asked after the limit has passed.
    const auto waited = time.now() - start;
    if (has_ended()) return true;
    if (waited > limit) return false;
    if (waited > kAskWithoutPause) time.pause(kPause);
  }
}

}  // namespace lsecheck::cuda
