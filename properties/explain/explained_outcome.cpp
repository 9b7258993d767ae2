#include "properties/explain/explained_outcome.h"

#include <optional>
#include <string>

#include "properties/explain/share_lines.h"

namespace lsecheck {

LawOutcome explained_outcome(const Law& law, const CaseTensors& tensors, Reference& reference) {
  if (law.id != LawId::accuracy) return check_guarded(law, tensors, reference);
  std::optional<AccuracyMeasurement> measured;
  LawOutcome outcome = check_accuracy(tensors, reference, measured);
  const auto worst = measured ? explain_violation(tensors, *measured) : std::nullopt;
  const std::string shares = worst ? share_lines(*worst) : "";
  if (!shares.empty()) outcome.message += "\n" + shares;
  return outcome;
}

}  // namespace lsecheck
