#pragma once

#include "kernels/cuda/cuda_backend.h"

// What the commands that need a GPU share.
namespace lsecheck::cli {

// Without a usable device: one line that names `what` asked for it, the reason and the remedy, and exit code 4.
const cuda::Device& cuda_device_or_exit(const char* what, const char* remedy = "use --backend cpu");

// Exit code 4, at once: a device that hangs would hold up the process in the driver's own clean-up.
[[noreturn]] void leave_after_device_failure();

}  // namespace lsecheck::cli
