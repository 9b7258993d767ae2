#pragma once

#include <cstdint>

namespace lsecheck::sfu {

// The output function of the SplitMix64 generator (Steele, Lea, Flood 2014): a bijection of 64-bit words that mixes
// well.
constexpr std::uint64_t splitmix64(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace lsecheck::sfu
