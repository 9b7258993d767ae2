#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "properties/case_evaluator.h"

namespace lsecheck {
namespace {

class ThreadedCases final : public CaseEvaluator {
 public:
  ThreadedCases(const RunConfig& config, const std::vector<const Law*>& laws) : config_(config), laws_(laws) {
    for (unsigned job = 0; job < std::max(1U, config.jobs); ++job) {
      references_.push_back(make_reference(config.reference));
    }
  }

  // The first error stops all threads: behind trouble with the device every launch fails, or hangs.
  std::vector<RunResults> evaluate(std::uint64_t begin, std::uint64_t end) override {
    std::vector<RunResults> results(end - begin);
    std::mutex mutex;
    std::exception_ptr first_error;
    std::atomic<std::uint64_t> next{begin};
    const auto work = [&](std::size_t job) {
      try {
        for (std::uint64_t i = next++; i < end; i = next++) {
          results[i - begin] = evaluate_case(draw_spec(config_.seed, i, config_.limits), i, laws_, *references_[job],
                                             {{}, config_.on_measured});
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
        next = end;
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t job = 1; job < references_.size(); ++job) threads.emplace_back(work, job);
      work(0);
    }
    if (first_error) std::rethrow_exception(first_error);
    return results;
  }

  Failure shrink(const Failure& failure) override { return shrunk_failure(failure, config_, *references_[0]); }

 private:
  const RunConfig& config_;
  const std::vector<const Law*>& laws_;
  std::vector<std::unique_ptr<Reference>> references_;
};

}  // namespace

std::unique_ptr<CaseEvaluator> make_threaded_cases(const RunConfig& config, const std::vector<const Law*>& laws) {
  return std::make_unique<ThreadedCases>(config, laws);
}

}  // namespace lsecheck
