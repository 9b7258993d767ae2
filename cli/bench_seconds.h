#pragma once

#include <functional>

namespace lsecheck::cli {

// The median of several timed runs of `work`, in seconds.
double median_seconds(int repeats, const std::function<void()>& work);

}  // namespace lsecheck::cli
