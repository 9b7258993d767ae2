#include "cli/cuda_device.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/quantities.h"
#include "kernels/cuda/launch_deadline.h"

namespace lsecheck::cli {

const cuda::Device& cuda_device_or_exit(const char* what, const char* remedy) {
  const cuda::Availability& found = cuda::availability();
  if (!found.device) {
    fmt::print(stderr, "lsecheck: {}: {}; {}\n", what, found.reason, remedy);
    throw ExitWith{kEnvironment};
  }
  return *found.device;
}

void add_device_timeout_option(CLI::App& command, std::string& text) {
  command
      .add_option("--device-timeout", text,
                  "with --backend cuda: a kernel that takes longer hangs, and the command ends with exit code 4")
      ->type_name("T")
      ->envname("LSECHECK_DEVICE_TIMEOUT")
      ->capture_default_str();
}

void apply_device_timeout(const std::string& text) {
  const auto limit = parse_duration(text);
  if (!limit || *limit <= limit->zero()) {
    throw CLI::ValidationError("--device-timeout", fmt::format("'{}' is not a duration such as 90s, 30m or 2h", text));
  }
  cuda::set_launch_time_limit(*limit);
}

std::string remedy_of(const cuda::DeviceError& error) {
  if (error.kind() == cuda::DeviceError::Kind::timeout) {
    return "; if the device is only busy with other work, allow more with --device-timeout";
  }
  if (error.kind() == cuda::DeviceError::Kind::illegal_access) {
    return "; replay it, under compute-sanitizer to see the access";
  }
  return "";
}

void leave_after_device_failure() {
  std::fflush(nullptr);
  std::_Exit(kEnvironment);
}

}  // namespace lsecheck::cli
