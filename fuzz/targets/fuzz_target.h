#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/combine_case_input.h"

// What is fuzzed, without the fuzzer: libfuzzer_main.cpp drives a target with libFuzzer, replay_main.cpp replays kept
// inputs in any build.
namespace lsecheck::fuzz {

struct FuzzOutcome {
  bool worth_keeping = true;           // false: the input does not reach what is tested
  std::optional<std::string> failure;  // what the oracle says against the program

  static FuzzOutcome reject() { return {false, std::nullopt}; }
  static FuzzOutcome fail(std::string why) { return {true, std::move(why)}; }
};

// Mutates the first `size` bytes of the buffer without knowledge of the format and returns the new size.
using BlindMutator = std::function<std::size_t(std::span<std::uint8_t> buffer, std::size_t size)>;

struct FuzzTarget {
  std::string_view name;
  std::string_view about;
  // Deterministic. Every exception that leaves it is a failure too.
  FuzzOutcome (*run)(FuzzInput input);
  // nullptr: blind mutations alone. At most buffer.size() bytes are left in the buffer; a function of the arguments.
  std::size_t (*mutate)(std::span<std::uint8_t> buffer, std::size_t size, std::uint32_t seed,
                        const BlindMutator& blind);
  // Inputs to begin with.
  std::vector<std::vector<std::uint8_t>> (*seeds)();
};

std::span<const FuzzTarget> fuzz_targets();
// nullptr where there is none of that name.
const FuzzTarget* find_fuzz_target(std::string_view name);

// target.run with exceptions turned into failures.
FuzzOutcome run_guarded(const FuzzTarget& target, FuzzInput input);

extern const FuzzTarget kCombineCaseTarget;
extern const FuzzTarget kTokenTarget;
extern const FuzzTarget kCaseFileTarget;
extern const FuzzTarget kTextFilesTarget;
extern const FuzzTarget kDispatchTarget;
extern const FuzzTarget kResultStoreTarget;

}  // namespace lsecheck::fuzz
