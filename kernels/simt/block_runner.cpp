#include "kernels/simt/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/sfu/splitmix64.h"

namespace lsecheck::simt {

namespace {

std::string_view file_name_of(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return path.substr(path.find_last_of('/') + 1);
}

std::string describe(const std::source_location& where) {
  return fmt::format("{}:{}", file_name_of(where), where.line());
}

}  // namespace

thread_local BlockRunner* BlockRunner::current_ = nullptr;

BlockRunner::BlockRunner(const Launch& launch, const std::function<void()>& body)
    : launch_(launch),
      body_(body),
      lockstep_(launch.schedule == Schedule::lockstep),
      threads_(launch.block.x * launch.block.y * launch.block.z),
      thread_(threads_),
      fibers_(threads_ + 1),
      status_(threads_ + 1, Status::finished),
      waited_(threads_ + 1, 0),
      waiting_at_(threads_),
      barrier_of_(threads_, 0),
      async_copies_(threads_),
      warps_((threads_ + 31) / 32),
      stacks_(threads_ + 1) {
  fiber_sanitizer::running(stacks_[threads_]);
  for (unsigned slot = 0; slot < threads_; ++slot) {
    KeptFiber kept = FiberCache::of_this_thread().take(&BlockRunner::thread_loop);
    fibers_[slot] = std::move(kept.fiber);
    stacks_[slot] = kept.stack;
  }
}

BlockRunner::~BlockRunner() {
  for (unsigned slot = 0; slot < threads_; ++slot) {
    FiberCache::of_this_thread().give_back({std::move(fibers_[slot]), stacks_[slot]});
  }
}

// Called anew after each switch, never inlined: the fiber may have changed the OS thread, and the addresses of
// thread_local variables with it.
BlockRunner& BlockRunner::running_here() {
  return *current_;
}

// What a fiber does: threads of block after block, of whichever runner switches to it.
boost::context::fiber BlockRunner::thread_loop(boost::context::fiber&& first_from) {
  boost::context::fiber from = std::move(first_from);
  void* fake_stack = nullptr;
  for (;;) {
    BlockRunner& runner = running_here();
    runner.arrive(std::move(from), fake_stack);
    runner.run_thread_body();
    runner.status_[runner.thread_] = Status::finished;
    --runner.unfinished_;
    from = runner.leave_for(runner.next_ready(), fake_stack);
  }
}

void BlockRunner::run_thread_body() {
  try {
    if (aborting_) return;
    body_();
    if (launch_.dependent && !waited_[thread_]) {
      record(FaultKind::missing_dependency_wait,
             "ends without griddepcontrol.wait: its later loads would race with the producer", nullptr);
      throw BlockAborted{};
    }
    Warp& warp = warps_[thread_ / 32];
    if (warp.arrived > 0) {
      record(FaultKind::divergent_collective,
             fmt::format("has ended, but lanes of its warp wait for it in {}", warp.site.operation), &warp.site.where);
      throw BlockAborted{};
    }
  } catch (const BlockAborted&) {
    aborting_ = true;
  }
}

std::optional<Fault> BlockRunner::run_block(std::uint64_t block) {
  reset_block(block);
  BlockRunner* const outer = std::exchange(current_, this);
  switch_to(!lockstep_ ? random_ready() : 0);
  while (unfinished_ > 0) {
    // Only a deadlock or an abort brings control back early: unwind every thread that is still inside the kernel.
    if (!aborting_) report_deadlock();
    aborting_ = true;
    const auto inside = std::find_if(status_.begin(), status_.begin() + threads_,
                                     [](Status status) { return status != Status::finished; });
    switch_to(static_cast<unsigned>(inside - status_.begin()));
  }
  current_ = outer;
  if (!fault_ && tensor_memory_.columns() > 0) {
    fault_ =
        Fault{FaultKind::tensor_memory, block_,
              fmt::format("kernel {}, block ({},{},{}): ends without releasing {} columns of tensor memory",
                          launch_.kernel, block_index_.x, block_index_.y, block_index_.z, tensor_memory_.columns())};
  }
  return std::exchange(fault_, std::nullopt);
}

void BlockRunner::reset_block(std::uint64_t block) {
  block_ = block;
  const std::uint64_t x = launch_.grid.x;
  const std::uint64_t y = launch_.grid.y;
  block_index_ = {static_cast<std::uint32_t>(block % x), static_cast<std::uint32_t>((block / x) % y),
                  static_cast<std::uint32_t>(block / (x * y))};
  ++epoch_;
  tensor_memory_.reset();
  aborting_ = false;
  unfinished_ = threads_;
  random_state_ = launch_.schedule_seed ^ (block * 0x9E3779B97F4A7C15ULL);
  std::fill(status_.begin(), status_.begin() + threads_, Status::ready);
  std::fill(waited_.begin(), waited_.end(), launch_.dependent ? 0 : 1);
  barriers_.fill(Barrier{});
  for (AsyncCopies& copies : async_copies_) copies.pending.clear();
  for (Warp& warp : warps_) {
    warp.arrived = 0;
    for (unsigned lane = 0; lane < 32; ++lane) warp.next_lane[lane] = static_cast<std::uint8_t>((lane + 1) % 32);
    if (!lockstep_) shuffle_lane_order(warp);
  }
}

void BlockRunner::leave_aborted_block() {
  throw BlockAborted{};
}

unsigned BlockRunner::next_ready() {
  if (aborting_) return threads_;
  if (!lockstep_ && (next_random() & 3) == 0) return random_ready();
  const unsigned warp = thread_ / 32;
  const unsigned neighbour = warp * 32 + warps_[warp].next_lane[thread_ % 32];
  if (neighbour < threads_ && status_[neighbour] == Status::ready) return neighbour;
  for (unsigned step = 0; step < threads_; ++step) {
    const unsigned slot = (warp * 32 + step) % threads_;
    if (status_[slot] == Status::ready) return slot;
  }
  return threads_;
}

unsigned BlockRunner::random_ready() {
  const unsigned start = static_cast<unsigned>(next_random() % threads_);
  for (unsigned step = 0; step < threads_; ++step) {
    const unsigned slot = (start + step) % threads_;
    if (status_[slot] == Status::ready) return slot;
  }
  return threads_;
}

std::uint64_t BlockRunner::next_random() {
  return sfu::splitmix64(random_state_++);
}

// A random cyclic order of the warp's lanes.
void BlockRunner::shuffle_lane_order(Warp& warp) {
  std::array<std::uint8_t, 32> order{};
  for (unsigned lane = 0; lane < 32; ++lane) order[lane] = static_cast<std::uint8_t>(lane);
  for (unsigned lane = 31; lane > 0; --lane) std::swap(order[lane], order[next_random() % (lane + 1)]);
  for (unsigned lane = 0; lane < 32; ++lane) warp.next_lane[order[lane]] = order[(lane + 1) % 32];
}

void BlockRunner::divergent(const CollectiveSite& site) {
  const CollectiveSite& met = warps_[thread_ / 32].site;
  fault(FaultKind::divergent_collective,
        fmt::format("reaches {}, but other lanes of its warp wait in {} at {}", site.operation, met.operation,
                    describe(met.where)),
        site.where);
}

// The last lane runs on. It cannot overtake the others by more than one collective, hence two phases of values.
void BlockRunner::complete_collective(Warp& warp) {
  warp.arrived = 0;
  warp.phase ^= 1U;
  Status* const lanes = status_.data() + (thread_ - thread_ % 32);
  std::fill(lanes, lanes + 32, Status::ready);
  if (!lockstep_) {
    shuffle_lane_order(warp);
    wait_for_turn();
  }
}

void BlockRunner::barrier(unsigned id, unsigned expected, const std::source_location& where) {
  if (id >= barriers_.size() || expected == 0 || expected % 32 != 0 || expected > threads_) {
    fault(FaultKind::barrier_mismatch,
          fmt::format("barrier {} of {} threads: ids go to 15, counts are multiples of 32 up to the block's {}", id,
                      expected, threads_),
          where);
  }
  Barrier& barrier = barriers_[id];
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.where = where;
  } else if (barrier.expected != expected) {
    fault(FaultKind::barrier_mismatch,
          fmt::format("arrives at barrier {} for {} threads, others wait there for {} at {}", id, expected,
                      barrier.expected, describe(barrier.where)),
          where);
  }
  status_[thread_] = Status::at_barrier;
  waiting_at_[thread_] = where;
  if (++barrier.arrived == barrier.expected) {
    barrier.arrived = 0;
    for (unsigned slot = 0; slot < threads_; ++slot) {
      if (status_[slot] == Status::at_barrier && barrier_of_[slot] == id) status_[slot] = Status::ready;
    }
    status_[thread_] = Status::ready;
    if (!lockstep_) {
      for (Warp& warp : warps_) shuffle_lane_order(warp);
      wait_for_turn();
    }
    return;
  }
  barrier_of_[thread_] = id;
  wait_for_turn();
}

BlockRunner::SharedStorage& BlockRunner::shared_storage(const void* site, std::size_t elements,
                                                        std::size_t element_bytes) {
  for (auto& [known_site, storage] : shared_) {
    if (known_site == site) return *storage;
  }
  auto storage = std::make_unique<SharedStorage>();
  storage->bytes.resize(elements * element_bytes);
  storage->written_epoch.assign(elements, 0);
  return *shared_.emplace_back(site, std::move(storage)).second;
}

void BlockRunner::copy_async(SharedStorage& storage, std::size_t element, const void* from, std::size_t bytes) {
  storage.written_epoch[element] = 0;
  AsyncCopies& copies = async_copies_[thread_];
  copies.pending.push_back({&storage, element, from, bytes, copies.open_group});
}

void BlockRunner::async_wait(unsigned pending_groups) {
  AsyncCopies& copies = async_copies_[thread_];
  auto copy = copies.pending.begin();
  for (; copy != copies.pending.end() && copy->group + pending_groups < copies.open_group; ++copy) {
    std::memcpy(copy->to->bytes.data() + copy->element * copy->bytes, copy->from, copy->bytes);
    copy->to->written_epoch[copy->element] = epoch_;
  }
  copies.pending.erase(copies.pending.begin(), copy);
}

void BlockRunner::check_access_slowly(const void* address, std::size_t bytes, std::size_t alignment, bool store,
                                      const std::source_location& where) {
  const char* const action = store ? "stores" : "loads";
  if (!waited_[thread_]) {
    fault(FaultKind::read_before_dependency_wait,
          fmt::format("{} global memory before griddepcontrol.wait: the producer may not have written it yet", action),
          where);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (const GlobalBuffer& buffer : launch_.buffers) {
    const auto offset = begin - reinterpret_cast<std::uintptr_t>(buffer.data);
    if (offset >= buffer.bytes || bytes > buffer.bytes - offset) continue;
    if (store && !buffer.writable) {
      fault(FaultKind::store_to_input, fmt::format("stores to byte {} of the input {}", offset, buffer.name), where);
    }
    if (misaligned(address, alignment)) {
      fault(FaultKind::misaligned_access,
            fmt::format("{} {} bytes at byte {} of {}, which is not a multiple of {}", action, bytes, offset,
                        buffer.name, alignment),
            where);
    }
    if (!store) {
      last_begin_ = reinterpret_cast<std::uintptr_t>(buffer.data);
      last_bytes_ = buffer.bytes;
    }
    return;
  }
  // Name the buffer that was meant: the one whose end lies closest below the address.
  const GlobalBuffer* nearest = nullptr;
  std::uintptr_t best = UINTPTR_MAX;
  for (const GlobalBuffer& buffer : launch_.buffers) {
    const auto distance = begin + bytes - reinterpret_cast<std::uintptr_t>(buffer.data);
    if (distance < best) {
      best = distance;
      nearest = &buffer;
    }
  }
  fault(store ? FaultKind::store_out_of_range : FaultKind::load_out_of_range,
        nearest == nullptr
            ? fmt::format("{} {} bytes, but the launch has no buffers", action, bytes)
            : fmt::format("{} {} bytes at byte {} of {}, which has {} bytes", action, bytes,
                          begin - reinterpret_cast<std::uintptr_t>(nearest->data), nearest->name, nearest->bytes),
        where);
}

std::string BlockRunner::thread_name(unsigned thread) const {
  return fmt::format("kernel {}, block ({},{},{}), thread {}", launch_.kernel, block_index_.x, block_index_.y,
                     block_index_.z, thread);
}

void BlockRunner::record(FaultKind kind, const std::string& what, const std::source_location* where) {
  if (fault_) return;
  fault_ = Fault{kind, block_,
                 where == nullptr ? fmt::format("{} {}", thread_name(thread_), what)
                                  : fmt::format("{} at {}: {}", thread_name(thread_), describe(*where), what)};
}

void BlockRunner::fault(FaultKind kind, const std::string& what, const std::source_location& where) {
  record(kind, what, &where);
  aborting_ = true;
  throw BlockAborted{};
}

// No thread can run on and some are still inside the kernel: say who waits where, and who is missing.
void BlockRunner::report_deadlock() {
  unsigned waiting = 0;
  while (waiting < threads_ && status_[waiting] == Status::finished) ++waiting;
  const unsigned done =
      static_cast<unsigned>(std::count(status_.begin(), status_.begin() + threads_, Status::finished));
  const unsigned at_barrier =
      static_cast<unsigned>(std::count(status_.begin(), status_.begin() + threads_, Status::at_barrier));
  const bool barrier = status_[waiting] == Status::at_barrier;
  fault_ = Fault{
      barrier ? FaultKind::barrier_mismatch : FaultKind::divergent_collective, block_,
      fmt::format("{} at {}: waits in {} that can never complete: of {} threads {} have ended, {} wait at barriers, {} "
                  "in warp collectives",
                  thread_name(waiting), describe(waiting_at_[waiting]),
                  barrier ? fmt::format("barrier {} for {} threads", barrier_of_[waiting],
                                        barriers_[barrier_of_[waiting]].expected)
                          : std::string(warps_[waiting / 32].site.operation),
                  threads_, done, at_barrier, threads_ - done - at_barrier)};
}

}  // namespace lsecheck::simt
