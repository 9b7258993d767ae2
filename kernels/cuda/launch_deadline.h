#pragma once

#include <chrono>
#include <functional>

// How long a kernel on the device may take before it counts as hung.
namespace lsecheck::cuda {

// A combine of the largest case takes milliseconds; a device that other work shares may let it wait for seconds.
inline constexpr std::chrono::seconds kDefaultLaunchTimeLimit{60};

// Of the whole process; set before the first launch.
std::chrono::nanoseconds launch_time_limit();
void set_launch_time_limit(std::chrono::nanoseconds limit);

// Time as ends_within() sees it; a test puts its own in place.
struct Timekeeper {
  std::function<std::chrono::steady_clock::time_point()> now;
  std::function<void(std::chrono::nanoseconds)> pause;
};
Timekeeper real_time();

// Asks `has_ended` until it says yes (true), or until `limit` has passed and it still says no (false). Work that ended
// while this process was stopped has ended, however late that is found out. What `has_ended` throws passes through.
bool ends_within(std::chrono::nanoseconds limit, const std::function<bool()>& has_ended,
                 const Timekeeper& time = real_time());

}  // namespace lsecheck::cuda
