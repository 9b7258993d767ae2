#pragma once

#include <cstdint>
#include <string_view>

namespace lsecheck {

// Where a kernel runs: under the executor on this processor, or on an NVIDIA GPU.
enum class Backend : std::uint8_t { cpu = 0, cuda = 1 };

constexpr std::string_view name_of(Backend backend) {
  return backend == Backend::cuda ? "cuda" : "cpu";
}

}  // namespace lsecheck
