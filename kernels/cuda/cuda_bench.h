#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/combine_kernel.h"

// Times on the device, by its own events. Both functions throw DeviceError (cuda_backend.h).
namespace lsecheck::cuda {

struct CombineTiming {
  double seconds = 0;       // one launch: the median over repeats of a train of launches divided by its length
  std::uint64_t bytes = 0;  // every input read once, the output written once
  int registers = 0;        // a thread
};

// The launches of a train run over buffer sets that together exceed the L2 several times, so that each finds its inputs
// in device memory.
// variant: not a ragged one.
CombineTiming time_combine(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                           int repeats);

// Bytes per second, read and written, of a device-to-device copy of 1 GiB: the ceiling the combine is held against.
double copy_bytes_per_second(int repeats);

}  // namespace lsecheck::cuda
