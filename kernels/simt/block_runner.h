#pragma once

#include <array>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "kernels/simt/fiber_cache.h"
#include "kernels/simt/fiber_sanitizer.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/tensor_memory_cells.h"

// One block at a time on the calling OS thread. A lane that has to wait switches straight to the next lane of its warp:
// a central scheduler would double the number of switches, which are the cost of a shuffle-heavy kernel.
namespace lsecheck::simt {

// Identifies the instruction that lanes meet at: the same operation at the same source line.
struct CollectiveSite {
  const char* operation = nullptr;
  std::source_location where;
};

// Thrown through a kernel thread to leave a block that has faulted.
struct BlockAborted {};

class BlockRunner {
 public:
  BlockRunner(const Launch& launch, const std::function<void()>& body);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  std::optional<Fault> run_block(std::uint64_t block);

  // The runner whose kernel thread is executing on this OS thread.
  static BlockRunner& current() { return *current_; }

  // --- what a kernel thread may ask for ---
  const Launch& launch() const { return launch_; }
  Dim3 thread_index() const {
    return {thread_ % launch_.block.x, (thread_ / launch_.block.x) % launch_.block.y,
            thread_ / (launch_.block.x * launch_.block.y)};
  }
  Dim3 block_index() const { return block_index_; }
  unsigned lane() const { return thread_ % 32; }

  // Deposits a value and waits for all 32 lanes; the span holds every lane's value until this lane's next collective.
  // Inlined down to the stack switch: every return that crosses a switch is a mispredicted one, and they dominate the
  // cost.
  LSECHECK_ALWAYS_INLINE const std::uint32_t* exchange(const CollectiveSite& site, std::uint32_t value) {
    Warp& warp = warps_[thread_ / 32];
    if (warp.arrived == 0) {
      warp.site = site;
    } else if (warp.site.operation != site.operation || warp.site.where.line() != site.where.line()) [[unlikely]] {
      divergent(site);
    }
    const unsigned first_value = warp.phase * 32;
    warp.values[first_value + thread_ % 32] = value;
    if (++warp.arrived == 32) {
      complete_collective(warp);
    } else {
      status_[thread_] = Status::at_collective;
      waiting_at_[thread_] = site.where;
      wait_for_turn();
    }
    return warp.values.data() + first_value;
  }
  // Waits until `expected` threads have arrived at named barrier `id`.
  void barrier(unsigned id, unsigned expected, const std::source_location& where);
  void dependency_wait() { waited_[thread_] = 1; }

  void check_load(const void* address, std::size_t bytes, std::size_t alignment, const std::source_location& where) {
    if (!waited_[thread_] || !in_last_buffer(address, bytes) || misaligned(address, alignment)) [[unlikely]] {
      check_access_slowly(address, bytes, alignment, false, where);
    }
  }
  void check_store(const void* address, std::size_t bytes, std::size_t alignment, const std::source_location& where) {
    check_access_slowly(address, bytes, alignment, true, where);
  }

  // The block's shared array of this call site: same storage for every thread, `epoch` marks the elements written by
  // this block.
  struct SharedStorage {
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> written_epoch;
  };
  SharedStorage& shared_storage(const void* site, std::size_t elements, std::size_t element_bytes);
  // Copies of the running thread into shared memory: done, and their elements readable, no sooner than the contract of
  // cp.async promises.
  void copy_async(SharedStorage& storage, std::size_t element, const void* from, std::size_t bytes);
  void async_commit() { ++async_copies_[thread_].open_group; }
  void async_wait(unsigned pending_groups);
  std::uint64_t epoch() const { return epoch_; }
  TensorMemoryCells& tensor_memory() { return tensor_memory_; }
  unsigned thread() const { return thread_; }

  [[noreturn]] void fault(FaultKind kind, const std::string& what, const std::source_location& where);

 private:
  enum class Status : std::uint8_t { ready, at_collective, at_barrier, finished };

  struct Warp {
    std::array<std::uint32_t, 64>
        values{};  // two phases of 32: a fast lane may deposit again before a slow one has read
    std::array<std::uint8_t, 32> next_lane{};
    CollectiveSite site;
    unsigned arrived = 0;
    unsigned phase = 0;
  };
  struct Barrier {
    unsigned expected = 0;
    unsigned arrived = 0;
    std::source_location where;
  };

  struct AsyncCopy {
    SharedStorage* to;
    std::size_t element;
    const void* from;
    std::size_t bytes;
    std::uint64_t group;
  };
  struct AsyncCopies {
    std::vector<AsyncCopy> pending;  // in the order they were issued
    std::uint64_t open_group = 0;
  };

  static bool misaligned(const void* address, std::size_t alignment) {
    return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) != 0;
  }
  bool in_last_buffer(const void* address, std::size_t bytes) const {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - last_begin_;
    return offset < last_bytes_ && bytes <= last_bytes_ - offset;
  }
  void check_access_slowly(const void* address, std::size_t bytes, std::size_t alignment, bool store,
                           const std::source_location& where);

  void reset_block(std::uint64_t block);
  [[gnu::noinline]] static BlockRunner& running_here();
  static boost::context::fiber thread_loop(boost::context::fiber&& first_from);
  void run_thread_body();
  void record(FaultKind kind, const std::string& what, const std::source_location* where);
  // Gives up the processor until this thread's status is ready again.
  LSECHECK_ALWAYS_INLINE void wait_for_turn() {
    const unsigned neighbour = thread_ - thread_ % 32 + warps_[thread_ / 32].next_lane[thread_ % 32];
    const bool straight_on = !aborting_ && lockstep_ && neighbour < threads_ && status_[neighbour] == Status::ready;
    const unsigned next = straight_on ? neighbour : next_ready();
    if (next == thread_) return;
    switch_to(next);
    if (aborting_) [[unlikely]]
      leave_aborted_block();
  }
  LSECHECK_ALWAYS_INLINE void switch_to(unsigned slot) {
    void* fake_stack = nullptr;
    boost::context::fiber from = leave_for(slot, fake_stack);
    arrive(std::move(from), fake_stack);
  }
  // The two halves of a switch: returns when something switches back, with the fiber that did.
  LSECHECK_ALWAYS_INLINE boost::context::fiber leave_for(unsigned slot, void*& fake_stack) {
    switched_from_ = thread_;
    thread_ = slot;
    fiber_sanitizer::start_switch(&fake_stack, stacks_[slot]);
    return std::move(fibers_[slot]).resume();
  }
  LSECHECK_ALWAYS_INLINE void arrive(boost::context::fiber&& from, void* fake_stack) {
    fiber_sanitizer::finish_switch(fake_stack, stacks_[switched_from_]);
    fibers_[switched_from_] = std::move(from);
  }
  void complete_collective(Warp& warp);
  [[noreturn]] void divergent(const CollectiveSite& site);
  [[noreturn]] static void leave_aborted_block();
  // The slot to run next; threads_ (the runner) when no thread can go on.
  unsigned next_ready();
  unsigned random_ready();
  void shuffle_lane_order(Warp& warp);
  void report_deadlock();
  std::uint64_t next_random();
  std::string thread_name(unsigned thread) const;

  static thread_local BlockRunner* current_;

  const Launch& launch_;
  const std::function<void()>& body_;
  bool lockstep_ = true;
  unsigned threads_ = 0;
  unsigned thread_ = 0;  // slot of the running fiber; threads_ is the runner itself
  unsigned switched_from_ = 0;
  std::vector<boost::context::fiber> fibers_;
  std::vector<Status> status_;
  std::vector<std::uint8_t> waited_;
  std::vector<std::source_location> waiting_at_;
  std::vector<unsigned> barrier_of_;       // the barrier a thread waits at
  std::vector<AsyncCopies> async_copies_;  // per thread
  std::vector<Warp> warps_;
  std::array<Barrier, 16> barriers_{};
  std::vector<std::pair<const void*, std::unique_ptr<SharedStorage>>> shared_;
  TensorMemoryCells tensor_memory_;
  Dim3 block_index_{};
  std::uint64_t block_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t random_state_ = 0;
  unsigned unfinished_ = 0;
  bool aborting_ = false;
  std::optional<Fault> fault_;
  std::uintptr_t last_begin_ = 0;
  std::size_t last_bytes_ = 0;
  std::vector<fiber_sanitizer::Stack> stacks_;
};

}  // namespace lsecheck::simt
