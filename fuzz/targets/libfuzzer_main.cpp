#include <cstdio>
#include <cstdlib>

#include "fuzz/targets/fuzz_target.h"

// The entry points of libFuzzer, whose main() links this: a program for the one target named by LSECHECK_FUZZ_TARGET.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

const lsecheck::fuzz::FuzzTarget& target() {
  static const lsecheck::fuzz::FuzzTarget& found = *lsecheck::fuzz::find_fuzz_target(LSECHECK_FUZZ_TARGET);
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lsecheck::fuzz::FuzzOutcome outcome = lsecheck::fuzz::run_guarded(target(), {data, size});
  if (outcome.failure) {
    std::fprintf(stderr, "%s\n", outcome.failure->c_str());
    std::abort();  // libFuzzer keeps the input
  }
  return outcome.worth_keeping ? 0 : -1;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (target().mutate == nullptr) return LLVMFuzzerMutate(data, size, max_size);
  return target().mutate({data, max_size}, size, seed, [](std::span<std::uint8_t> buffer, std::size_t used) {
    return LLVMFuzzerMutate(buffer.data(), used, buffer.size());
  });
}
