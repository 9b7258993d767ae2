#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/combine_kernel.h"

// Device code of the tests: producers for the combines to consume, and a kernel that hangs. Linked into kernels_test
// alone.
namespace lsecheck::cuda::probes {

// What every word of the inputs holds before the late producer's stores: four equal bytes, NaN in every type.
inline constexpr std::uint32_t kStaleWord = 0xffffffffU;

// A producer that lets its dependents start at once, waits for the host and only then stores the inputs, over memory
// that holds NaN; behind it, in the same stream, the combine. The host lets the producer go on some time after both are
// launched.
struct LateProducer {
  std::vector<std::byte> output;               // of the combine
  std::vector<std::byte> output_without_wait;  // of the same combine compiled without griddepcontrol.wait
};
// Of the entries fa4_splitk_combine<bf16, bf16, 128, 16>, mla_combine<bf16, 512, 37, 4> and
// mla_combine_split_parallel<bf16, 512, 37>; std::invalid_argument for any other.
LateProducer run_behind_late_producer(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                                      const CombineBuffers& buffers);

// Launches a kernel that ends only when the host says so, and waits for it as for a combine: throws DeviceError of kind
// timeout. The kernel has ended when the exception arrives.
void run_hung_kernel();

// Inputs that are a function of their index, so that neither side has to hold them.
float pattern_lse(std::uint64_t index);
std::uint16_t pattern_bf16(std::uint64_t index);

// Runs the combine on device memory filled with the pattern (types bf16 <- bf16) and brings back the row-heads asked
// for, [row_heads.size(), ov_depth] bits.
std::vector<std::uint16_t> combine_pattern(std::string_view kernel, const CombineShape& shape,
                                           const KernelVariant& variant, const std::vector<std::uint64_t>& row_heads);

}  // namespace lsecheck::cuda::probes
