#pragma once

#include <cstddef>
#include <cstdint>

// Every other file is compiled for x86-64-v3; an older processor would die of an illegal instruction, perhaps before
// main. cpu_check.cpp is compiled for plain x86-64 and looks before any other static initialiser runs. No standard
// library type here: an inline function of a header would be shared with files compiled for x86-64-v3.
namespace lsecheck::cli {

// What the processor says of itself; 0 for a leaf it does not have.
struct ProcessorBits {
  std::uint32_t leaf1_ecx = 0;     // cpuid 1
  std::uint32_t leaf7_ebx = 0;     // cpuid 7, subleaf 0
  std::uint32_t extended_ecx = 0;  // cpuid 0x80000001
  std::uint32_t xcr0 = 0;          // the register states the operating system saves; 0 without OSXSAVE
};

// Writes the line that refuses such a processor into line[capacity], newline included and cut to the capacity, no
// terminator. Returns its length; 0 when nothing lacks.
std::size_t refusal_line(const ProcessorBits& bits, char* line, std::size_t capacity);

}  // namespace lsecheck::cli
