#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/combine_case_input.h"
#include "fuzz/targets/combine_case_mutation.h"
#include "fuzz/targets/error_counters.h"
#include "properties/laws.h"
#include "properties/runner.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

namespace lsecheck::fuzz {
namespace {

FuzzOutcome run(FuzzInput input) {
  auto decoded = decode_combine_case(input);
  if (!decoded) return FuzzOutcome::reject();
  const CaseTensors tensors = bucketed(std::move(decoded->tensors));
  static const std::unique_ptr<Reference> reference = make_certified_reference();
  std::optional<AccuracyMeasurement> measured;
  const auto failure_of = [&](const Law& law, const LawOutcome& outcome) -> std::optional<std::string> {
    if (outcome.status != LawOutcome::Status::fails) return std::nullopt;
    return fmt::format("{}: law {} fails for {}\n{}", name_of(tensors.spec.kernel), law.name,
                       describe_spec(tensors.spec), outcome.message);
  };
  for (const Law& law : all_laws()) {
    if (law.id == LawId::twin || law.of_run) continue;  // need a GPU; look at no case
    const LawOutcome outcome = law.id == LawId::accuracy ? check_accuracy(tensors, *reference, measured)
                                                         : check_guarded(law, tensors, *reference);
    if (const auto failure = failure_of(law, outcome)) return FuzzOutcome::fail(*failure);
  }
  if (measured) count_errors(tensors.spec, *measured);
  return {};
}

}  // namespace

const FuzzTarget kCombineCaseTarget{"combine_case",
                                    "any bits of exponents, masses and values through a kernel, held to all laws", run,
                                    mutate_combine_case, combine_case_seeds};

}  // namespace lsecheck::fuzz
