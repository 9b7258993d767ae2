#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/arch.h"
#include "kernels/sfu/sfu.h"
#include "kernels/simt/schedule.h"

// Runs the CUDA C++ kernels of this project on a CPU, block by block, every thread of a block as a fiber, and enforces
// what a GPU leaves undefined or silent. A launch ends clean or with the fault of the lowest faulting block.
namespace lsecheck::simt {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

// Memory that a launch may touch. Loads and stores outside every buffer, and stores into a read-only one, are faults.
struct GlobalBuffer {
  std::string name;
  void* data = nullptr;
  std::size_t bytes = 0;
  bool writable = false;
};

enum class FaultKind : std::uint8_t {
  grid_limit,            // y or z beyond 65535, x beyond 2^31 - 1, more than 1024 threads
  divergent_collective,  // lanes of a warp reach different collectives, or not all reach one
  barrier_mismatch,      // wrong thread count, or a barrier that not all threads reach
  load_out_of_range,
  store_out_of_range,
  store_to_input,
  misaligned_access,
  unwritten_shared_read,
  shared_out_of_range,
  tensor_memory,  // lanes of another warp, columns not allocated or not written, an allocation not given back
  read_before_dependency_wait,  // global memory touched before griddepcontrol.wait
  missing_dependency_wait,      // a thread of a dependent launch ends without it
  kernel_check                  // a check of the kernel's own failed
};

struct Fault {
  FaultKind kind;
  std::uint64_t block = 0;
  std::string message;  // kernel, block, thread, source line, and what happened
};

struct Launch {
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  std::vector<GlobalBuffer> buffers;
  Arch arch = Arch::sm_100a;
  sfu::Unit unit{};
  Schedule schedule = Schedule::lockstep;
  std::uint64_t schedule_seed = 0;
  bool dependent = false;  // programmatic dependent launch: global memory is inaccessible until the wait
  unsigned jobs = 1;       // OS threads that blocks are spread over; results do not depend on it
  // When set, only these blocks (linear index, x fastest) run: reaches index ranges no CPU could run in full.
  std::optional<std::vector<std::uint64_t>> only_blocks;
};

// `body` is the kernel call, made once by every thread of every block.
std::optional<Fault> run(const Launch& launch, const std::function<void()>& body);

}  // namespace lsecheck::simt
