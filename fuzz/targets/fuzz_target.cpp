#include "fuzz/targets/fuzz_target.h"

#include <algorithm>
#include <array>
#include <exception>

// Read by AddressSanitizer where the program is built with it. Its stand-ins for stacks, which find uses after return,
// cost four times the time of an input.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "detect_stack_use_after_return=0";
}

namespace lsecheck::fuzz {

std::span<const FuzzTarget> fuzz_targets() {
  static const std::array<FuzzTarget, 6> targets{kCombineCaseTarget, kTokenTarget,    kCaseFileTarget,
                                                 kTextFilesTarget,   kDispatchTarget, kResultStoreTarget};
  return targets;
}

const FuzzTarget* find_fuzz_target(std::string_view name) {
  const auto targets = fuzz_targets();
  const auto found =
      std::find_if(targets.begin(), targets.end(), [&](const FuzzTarget& target) { return target.name == name; });
  return found == targets.end() ? nullptr : &*found;
}

FuzzOutcome run_guarded(const FuzzTarget& target, FuzzInput input) {
  try {
    return target.run(input);
  } catch (const std::exception& error) {
    return FuzzOutcome::fail(std::string("an exception that no caller expects: ") + error.what());
  }
}

}  // namespace lsecheck::fuzz
