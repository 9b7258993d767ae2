#include "cli/cpu_check.h"

#include <cpuid.h>
#include <unistd.h>

#include "cli/exit_codes.h"

namespace lsecheck::cli {
namespace {

struct Requirement {
  const char* name;
  std::uint32_t ProcessorBits::*word;
  std::uint32_t mask;  // all of these bits
};

// What x86-64-v3 adds to its predecessors; a processor that has these has the older ones. Bit numbers: Intel SDM volume
// 2, CPUID; volume 1, 13.3 (XCR0 bits 1 and 2: the xmm and ymm registers).
constexpr std::uint32_t kSavedRegisters = 0x6;
constexpr Requirement kRequirements[] = {
    {"avx", &ProcessorBits::leaf1_ecx, 1U << 28},
    {"avx2", &ProcessorBits::leaf7_ebx, 1U << 5},
    {"bmi1", &ProcessorBits::leaf7_ebx, 1U << 3},
    {"bmi2", &ProcessorBits::leaf7_ebx, 1U << 8},
    {"f16c", &ProcessorBits::leaf1_ecx, 1U << 29},
    {"fma", &ProcessorBits::leaf1_ecx, 1U << 12},
    {"lzcnt", &ProcessorBits::extended_ecx, 1U << 5},
    {"movbe", &ProcessorBits::leaf1_ecx, 1U << 22},
    {"ymm registers saved by the operating system", &ProcessorBits::xcr0, kSavedRegisters},
};

struct Line {
  char* text;
  std::size_t capacity;
  std::size_t length = 0;

  void add(const char* more) {
    for (; *more != '\0' && length < capacity; ++more) text[length++] = *more;
  }
};

ProcessorBits this_processor() {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  ProcessorBits bits;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) bits.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) bits.leaf7_ebx = ebx;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0) bits.extended_ecx = ecx;
  // xgetbv is itself an illegal instruction where the operating system has not turned it on.
  if ((bits.leaf1_ecx & kOsxsave) != 0) __asm__("xgetbv" : "=a"(bits.xcr0), "=d"(edx) : "c"(0));
  return bits;
}

// 101 is the first priority open to programs: before the constructors of every static object. The C++ library may not
// be ready, so nothing but system calls.
__attribute__((constructor(101))) void refuse_older_processors() {
  char line[256];
  const std::size_t length = refusal_line(this_processor(), line, sizeof line);
  if (length == 0) return;
  // Nothing is left to do when standard error is closed: the exit code says the same.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
  _exit(kEnvironment);
}

}  // namespace

std::size_t refusal_line(const ProcessorBits& bits, char* line, std::size_t capacity) {
  Line out{line, capacity};
  for (const Requirement& required : kRequirements) {
    if ((bits.*required.word & required.mask) == required.mask) continue;
    out.add(out.length == 0 ? "lsecheck: this processor lacks " : ", ");
    out.add(required.name);
  }
  if (out.length != 0) out.add("; run on an x86-64-v3 processor (Haswell, Zen or later)\n");
  return out.length;
}

}  // namespace lsecheck::cli
