#pragma once

#include <cstddef>
#include <span>

#include "kernels/combine_kernel.h"
#include "kernels/simt/launch.h"

// What the launches of all kernels on the executor have in common.
namespace lsecheck::sm100 {

// The executor keeps inputs from being written; the cast only fits its one buffer type.
inline simt::GlobalBuffer input(const char* name, std::span<const std::byte> bytes) {
  return {name, const_cast<std::byte*>(bytes.data()), bytes.size(), false};
}

inline simt::GlobalBuffer output(const char* name, std::span<std::byte> bytes) {
  return {name, bytes.data(), bytes.size(), true};
}

// Everything but the kernel, its grid and block, its buffers, and whether it is dependent.
inline simt::Launch launch_as(const ExecutionOptions& options, Arch arch) {
  simt::Launch launch;
  launch.arch = arch;
  launch.unit = options.unit;
  launch.schedule = options.schedule;
  launch.schedule_seed = options.schedule_seed;
  launch.jobs = options.jobs;
  launch.only_blocks = options.only_blocks;
  return launch;
}

}  // namespace lsecheck::sm100
