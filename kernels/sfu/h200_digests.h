#pragma once

#include <array>
#include <cstdint>

// The measured block digests, indexed [Instruction][block]. Block b holds the 2^23 inputs whose top nine bits (sign and
// exponent) are b; its digest is the sum mod 2^64 of splitmix64(input << 32 | output), both as bits. NaN outputs are
// 0x7fffffff.
namespace lsecheck::sfu {

extern const std::array<std::array<std::uint64_t, 512>, 5> kH200Digests;

}  // namespace lsecheck::sfu
