#include "properties/crash_shrink.h"

#include <functional>
#include <memory>
#include <string_view>

#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/failure_shrink.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

namespace lsecheck {
namespace {

// Of spec and tensors together: an attempt costs a process, and a plugin may have to open a device in it.
constexpr int kCrashTries = 400;
constexpr int kPluginCrashTries = 100;

}  // namespace

CrashAttempts::CrashAttempts(const Law& law, const WorkerAnswer& death, const WorkerLimits& limits,
                             Reference& reference)
    : law_(law), death_(death), limits_(limits), reference_(reference) {}

bool CrashAttempts::operator()(const CaseTensors& tensors) {
  if (tries_ >= (tensors.spec.kernel == KernelId::plugin ? kPluginCrashTries : kCrashTries)) return false;
  ++tries_;
  const auto check = [&](std::string_view, const WorkerPool::Mark&) {
    check_guarded(law_, tensors, reference_);
    return std::string("alive");
  };
  const WorkerAnswer answer = WorkerPool(check, 1, limits_).ask({0, "check"});
  // A smaller case that hangs is another failure, and not one to meet again.
  if (!answer.death.empty() && !answer.by_itself) tries_ = kCrashTries;
  return answer.death == death_.death;
}

std::string CrashAttempts::hindrance(const CaseTensors& tensors) {
  if (!death_.by_itself) return "not made smaller: every attempt would run to that limit";
  if ((*this)(tensors)) return "";
  return "not made smaller: alone this case does not do it; an earlier one must have damaged the process";
}

Failure shrunk_crash(Failure failure, const WorkerAnswer& death, const RunConfig& config) {
  const CaseSpec spec = draw_spec(config.seed, failure.case_index, config.limits);
  const Law& law = *find_law(failure.law);
  const std::unique_ptr<Reference> reference = make_reference(config.reference);
  CrashAttempts attempts(law, death, config.isolation.value(), *reference);
  if (const std::string hindrance = attempts.hindrance(bucketed(expand(spec))); !hindrance.empty()) {
    failure.message += "\n" + hindrance;
    return failure;
  }
  const FailsLikewise crashes = std::ref(attempts);
  const CaseSpec small = shrink_spec(spec, crashes);
  failure.token = format_token({static_cast<std::uint8_t>(law.id), small});
  failure.shape = describe_spec(small);
  if (config.failure_directory.empty()) return failure;
  failure.case_file = failure_file(config.failure_directory, failure);
  save_case(failure.case_file,
            {shrink_tensors(expand(small), crashes), std::string(law.name), failure.token, kGeneratorVersion});
  return failure;
}

}  // namespace lsecheck
