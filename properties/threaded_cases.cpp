#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "properties/case_evaluator.h"

namespace lsecheck {
namespace {

// The caller is one of the jobs: it works while it waits, and a run on one job has no other thread.
class ThreadedCases final : public CaseEvaluator {
 public:
  ThreadedCases(const RunConfig& config, const std::vector<const Law*>& laws) : config_(config), laws_(laws) {
    const std::size_t jobs = std::max(1U, config.jobs);
    for (std::size_t job = 0; job < jobs; ++job) references_.push_back(make_reference(config.reference));
    for (std::size_t job = 1; job < jobs; ++job) threads_.emplace_back([this, job] { work(*references_[job]); });
  }

  ~ThreadedCases() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  void begin(std::uint64_t begin, std::uint64_t end) override {
    {
      const std::lock_guard lock(mutex_);
      for (std::uint64_t i = begin; i < end; ++i) slots_.emplace_back().case_index = i;
    }
    changed_.notify_all();
  }

  RunResults next() override {
    std::unique_lock lock(mutex_);
    while (!slots_.front().done) {
      if (can_begin()) {
        run_one(lock, *references_[0]);
      } else {
        changed_.wait(lock);
      }
    }
    Slot first = std::move(slots_.front());
    slots_.pop_front();
    --begun_;
    if (first.error) std::rethrow_exception(first.error);
    return std::move(first.results);
  }

  Failure shrink(const Failure& failure) override { return shrunk_failure(failure, config_, *references_[0]); }

 private:
  struct Slot {
    std::uint64_t case_index = 0;
    bool done = false;
    RunResults results;
    std::exception_ptr error;
  };

  void work(Reference& reference) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || can_begin(); });
      if (ended_) return;
      run_one(lock, reference);
    }
  }

  // After an error no case begins: behind trouble with the device every launch fails, or hangs. Cases begin in order,
  // so those before the error have begun, and next() gives them first.
  bool can_begin() const { return !failed_ && begun_ < slots_.size(); }

  void run_one(std::unique_lock<std::mutex>& lock, Reference& reference) {
    Slot& slot = slots_[begun_++];  // stays where it is while others come and go at the ends
    lock.unlock();
    try {
      slot.results = evaluate_case(draw_spec(config_.seed, slot.case_index, config_.limits), slot.case_index, laws_,
                                   reference, {{}, config_.on_measured});
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    slot.done = true;
    failed_ = failed_ || slot.error;
    changed_.notify_all();
  }

  const RunConfig& config_;
  const std::vector<const Law*>& laws_;
  std::vector<std::unique_ptr<Reference>> references_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;
  std::size_t begun_ = 0;  // of slots_
  bool failed_ = false;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  // the first to go
};

}  // namespace

std::unique_ptr<CaseEvaluator> make_threaded_cases(const RunConfig& config, const std::vector<const Law*>& laws) {
  return std::make_unique<ThreadedCases>(config, laws);
}

}  // namespace lsecheck
