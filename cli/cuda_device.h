#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kernels/cuda/cuda_backend.h"

// What the commands that need a GPU share.
namespace lsecheck::cli {

// Without a usable device: one line that names `what` asked for it, the reason and the remedy, and exit code 4.
const cuda::Device& cuda_device_or_exit(const char* what, const char* remedy = "use --backend cpu");

// --device-timeout, or LSECHECK_DEVICE_TIMEOUT: how long a kernel may take, into `text`.
void add_device_timeout_option(CLI::App& command, std::string& text);
// Sets it for the process; CLI::ValidationError where it is no duration.
void apply_device_timeout(const std::string& text);

// What to do about trouble with the device, as the end of an error line; empty where nothing general can be said.
std::string remedy_of(const cuda::DeviceError& error);

// Exit code 4, at once: a device that hangs would hold up the process in the driver's own clean-up.
[[noreturn]] void leave_after_device_failure();

}  // namespace lsecheck::cli
