#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

// The chips the kernels differ on. sm_100a is B200 (148 SMs), sm_103a is B300 (160), sm_90 is H200 (132).
namespace lsecheck {

enum class Arch : std::uint8_t { sm_90 = 0, sm_100a = 1, sm_103a = 2 };

inline constexpr std::array<Arch, 3> kAllArchs{Arch::sm_90, Arch::sm_100a, Arch::sm_103a};

constexpr int sm_count_of(Arch arch) {
  switch (arch) {
    case Arch::sm_90:
      return 132;
    case Arch::sm_100a:
      return 148;
    case Arch::sm_103a:
      break;
  }
  return 160;
}

constexpr std::string_view name_of(Arch arch) {
  switch (arch) {
    case Arch::sm_90:
      return "sm_90";
    case Arch::sm_100a:
      return "sm_100a";
    case Arch::sm_103a:
      break;
  }
  return "sm_103a";
}

constexpr std::optional<Arch> parse_arch(std::string_view name) {
  for (const Arch arch : kAllArchs) {
    if (name_of(arch) == name) return arch;
  }
  return std::nullopt;
}

}  // namespace lsecheck
