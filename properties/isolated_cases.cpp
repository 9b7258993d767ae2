#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "properties/case_evaluator.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/crash_shrink.h"
#include "properties/failure_shrink.h"
#include "properties/kernel_death.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/results_wire.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

// Requests to a worker: a letter, then the case's number or the failure.
constexpr char kEvaluate = 'e';
constexpr char kShrink = 's';

class IsolatedCases final : public CaseEvaluator {
 public:
  IsolatedCases(const RunConfig& config, const std::vector<const Law*>& laws)
      : config_(config),
        laws_(laws),
        pool_([this](std::string_view request, const WorkerPool::Mark& mark) { return serve(request, mark); },
              config.jobs, config.isolation.value()) {
    for (const Failure& failure : config.earlier_failures) {
      if (is_kernel_death(failure)) count_death(std::get<Token>(parse_token(failure.found_token)).spec.kernel);
    }
  }

  void begin(std::uint64_t begin, std::uint64_t end) override {
    for (std::uint64_t i = begin; i < end; ++i) {
      running_.push_back({i, draw_spec(config_.seed, i, config_.limits)});
      pool_.submit({group_of(running_.back().spec.kernel), kEvaluate + std::to_string(i)});
    }
  }

  // Deaths are counted here, where answers are in order: which case is the last of a kernel depends neither on time nor
  // on jobs.
  RunResults next() override {
    const DrawnCase drawn = running_.front();
    running_.pop_front();
    return results_of(drawn, pool_.next());
  }

  Failure shrink(const Failure& failure) override {
    if (const auto lost = lost_.find(failure.case_index); lost != lost_.end()) {
      return shrunk_crash(failure, lost->second, config_);
    }
    const CaseSpec spec = draw_spec(config_.seed, failure.case_index, config_.limits);
    const WorkerAnswer answer = pool_.ask({group_of(spec.kernel), kShrink + to_wire(failure), kShrinkPatience});
    std::string why = answer.death;
    try {
      if (answer.death.empty()) return failure_from_wire(answer.reply);
    } catch (const std::invalid_argument&) {
      why = "sent back damaged results";
    }
    Failure as_drawn = failure;
    as_drawn.message += fmt::format("\nnot made smaller: a smaller case {}", why);
    return as_drawn;
  }

 private:
  struct DrawnCase {
    std::uint64_t case_index = 0;
    CaseSpec spec;
  };

  static std::size_t group_of(KernelId kernel) { return static_cast<std::size_t>(kernel); }

  // Whether it was the kernel's last.
  bool count_death(KernelId kernel) {
    const bool last = ++deaths_[kernel] == kDeathsUntilGivenUp;
    if (last) pool_.give_up(group_of(kernel));
    return last;
  }

  // Runs in the worker, which a plugin shares: what it wrote over may show as an error of ours.
  std::string serve(std::string_view request, const WorkerPool::Mark& mark) {
    try {
      return answer_to(request, mark);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const FileError&) {
      throw;
    } catch (const std::exception&) {
      if (loaded_plugin() != nullptr) std::abort();
      throw;
    }
  }

  std::string answer_to(std::string_view request, const WorkerPool::Mark& mark) {
    if (!reference_) reference_ = make_reference(config_.reference);
    const std::string_view content = request.substr(1);
    if (request.front() == kShrink) {
      return to_wire(shrunk_failure(failure_from_wire(content), config_, *reference_));
    }
    const std::uint64_t i = std::stoull(std::string(content));
    return to_wire(evaluate_case(draw_spec(config_.seed, i, config_.limits), i, laws_, *reference_,
                                 {[&](LawId law) { mark(mark_of(law)); }, {}}));
  }

  RunResults results_of(const DrawnCase& drawn, WorkerAnswer answer) {
    if (answer.given_up()) {
      RunResults nothing;
      nothing.totals.cases = 1;
      return nothing;
    }
    if (answer.death.empty()) {
      try {
        return results_from_wire(answer.reply);
      } catch (const std::invalid_argument&) {
        answer.death = "sent back damaged results";
        answer.by_itself = true;
      }
    }
    return lost_case(drawn, answer);
  }

  // What a case leaves whose process died: one failure, of the law that was being checked.
  RunResults lost_case(const DrawnCase& drawn, const WorkerAnswer& answer) {
    const auto& [case_index, spec] = drawn;
    lost_[case_index] = answer;
    const bool last = count_death(spec.kernel);
    const Law* const law = law_at_death(answer, laws_);
    const std::string kernel(name_of(spec.kernel));
    RunResults results;
    results.totals.cases = 1;
    results.totals.row_heads = spec.rows_heads();
    results.totals.failures = 1;
    results.laws[{kernel, std::string(law->name)}] = {1, 0, 1};
    Failure failure;
    failure.case_index = case_index;
    failure.kernel = kernel;
    failure.law = law->name;
    failure.token = failure.found_token = format_token({static_cast<std::uint8_t>(law->id), spec});
    failure.shape = describe_spec(spec);
    failure.message = kernel_death(answer);
    if (last) {
      failure.message += fmt::format("\nafter {} such cases this kernel is run no more", kDeathsUntilGivenUp);
    }
    if (!config_.failure_directory.empty()) {
      failure.case_file = failure_file(config_.failure_directory, failure);
      save_case(failure.case_file, {expand(spec), failure.law, failure.token, kGeneratorVersion});
    }
    results.failures.push_back(std::move(failure));
    return results;
  }

  const RunConfig& config_;
  const std::vector<const Law*>& laws_;
  std::unique_ptr<Reference> reference_;  // of a worker
  std::deque<DrawnCase> running_;
  std::map<KernelId, unsigned> deaths_;
  std::map<std::uint64_t, WorkerAnswer> lost_;
  WorkerPool pool_;
};

}  // namespace

std::unique_ptr<CaseEvaluator> make_isolated_cases(const RunConfig& config, const std::vector<const Law*>& laws) {
  return std::make_unique<IsolatedCases>(config, laws);
}

}  // namespace lsecheck
