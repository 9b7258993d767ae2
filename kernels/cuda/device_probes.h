#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/combine_kernel.h"

// Device code of the tests: producers for fa4_splitk_combine to consume. Linked into kernels_test alone.
namespace lsecheck::cuda::probes {

// A producer that lets its dependents start at once, stays busy for some milliseconds and only then stores the inputs;
// behind it, in the same stream, the combine, and once more with a reader that does not wait.
struct LateProducer {
  std::vector<std::byte> output;  // of the combine
  bool reader_saw_stale_memory;   // the reader that does not wait read what was there before the producer's stores
};
LateProducer run_behind_late_producer(const CombineShape& shape, const KernelVariant& variant,
                                      const CombineBuffers& buffers);

// Inputs that are a function of their index, so that neither side has to hold them.
float pattern_lse(std::uint64_t index);
std::uint16_t pattern_bf16(std::uint64_t index);

// Runs the combine on device memory filled with the pattern (types bf16 <- bf16) and brings back the rows asked for,
// [rows.size(), ov_depth] bits.
std::vector<std::uint16_t> combine_pattern(const CombineShape& shape, const KernelVariant& variant,
                                           const std::vector<std::uint64_t>& rows);

}  // namespace lsecheck::cuda::probes
