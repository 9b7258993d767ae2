#include "properties/replay_shrink.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

#include "properties/crash_shrink.h"
#include "properties/explain/explained_outcome.h"
#include "properties/failure_shrink.h"
#include "properties/kernel_death.h"
#include "properties/runner.h"
#include "properties/tensor_edits.h"

namespace lsecheck {
namespace {

constexpr const char* kWhole = "\nnot made smaller: no smaller case fails like it";

// Bit by bit: a NaN is not equal to itself.
bool same_floats(const std::vector<float>& one, const std::vector<float>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

bool same_case(const CaseTensors& one, const CaseTensors& other) {
  return one.spec == other.spec && one.exponent_scale == other.exponent_scale && one.o_partial == other.o_partial &&
         same_floats(one.lse_partial, other.lse_partial) && same_floats(one.mass_partial, other.mass_partial) &&
         same_floats(one.attention_sink, other.attention_sink);
}

std::string made_small(const CaseTensors& tensors) {
  return "\nmade small: " + describe_spec(tensors.spec);
}

}  // namespace

SmallCase shrunk_by_law(const CaseTensors& given, const std::string& message, const Law& law, Reference& reference) {
  const CaseTensors launched = bucketed(given);
  const LawOutcome again = explained_outcome(law, launched, reference);
  if (again.status != LawOutcome::Status::fails) return {given, message + kHoldsAtSecondLook};
  CaseTensors small = shrink_tensors(launched, fails_law(law, reference));
  if (same_case(small, launched)) return {given, again.message + kWhole};
  std::string told = explained_outcome(law, small, reference).message + made_small(small);
  return {std::move(small), std::move(told)};
}

SmallCase shrunk_by_death(const CaseTensors& given, const WorkerAnswer& death, const Law& law,
                          const WorkerLimits& limits, Reference& reference) {
  const CaseTensors launched = bucketed(given);
  const std::string message = kernel_death(death);
  CrashAttempts attempts(law, death, limits, reference);
  if (const std::string hindrance = attempts.hindrance(launched); !hindrance.empty()) {
    return {given, message + "\n" + hindrance};
  }
  CaseTensors small = shrink_tensors(launched, std::ref(attempts));
  if (same_case(small, launched)) return {given, message + kWhole};
  std::string told = message + made_small(small);
  return {std::move(small), std::move(told)};
}

}  // namespace lsecheck
