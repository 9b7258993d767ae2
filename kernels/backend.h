#pragma once

#include <cstdint>
#include <string_view>

namespace lsecheck {

// Where a kernel runs: under the executor on this processor, on an NVIDIA GPU, or wherever a shared object that was
// loaded takes it.
enum class Backend : std::uint8_t { cpu = 0, cuda = 1, plugin = 2 };

constexpr std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::cpu:
      return "cpu";
    case Backend::cuda:
      return "cuda";
    case Backend::plugin:
      break;
  }
  return "plugin";
}

}  // namespace lsecheck
