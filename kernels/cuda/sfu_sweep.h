#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/sfu/sfu.h"

// The special-function unit of the device, swept over all inputs. Both functions throw DeviceError (cuda_backend.h).
namespace lsecheck::cuda {

// The 512 block digests of one instruction (kernels/sfu/h200_digests.h defines them), over all 2^32 inputs.
std::array<std::uint64_t, 512> measure_digests(sfu::Instruction instruction);

// Output bits for the 2^23 inputs whose top nine bits are `block`, in the order of the inputs.
std::vector<std::uint32_t> measure_block(sfu::Instruction instruction, std::uint32_t block);

}  // namespace lsecheck::cuda
