#include "cli/cuda_device.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace lsecheck::cli {

const cuda::Device& cuda_device_or_exit(const char* what, const char* remedy) {
  const cuda::Availability& found = cuda::availability();
  if (!found.device) {
    fmt::print(stderr, "lsecheck: {}: {}; {}\n", what, found.reason, remedy);
    throw ExitWith{kEnvironment};
  }
  return *found.device;
}

void leave_after_device_failure() {
  std::fflush(nullptr);
  std::_Exit(kEnvironment);
}

}  // namespace lsecheck::cli
