#pragma once

#include "fuzz/targets/fuzz_target.h"

namespace lsecheck::fuzz {

// Edits one float by its fields, or partitions as a whole; see FuzzTarget::mutate.
std::size_t mutate_combine_case(std::span<std::uint8_t> buffer, std::size_t size, std::uint32_t seed,
                                const BlindMutator& blind);

}  // namespace lsecheck::fuzz
