#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Work that may crash, hang or eat memory, in processes of its own: a worker only ever runs tasks of one group, so that
// what a task leaves behind meets no other group, and a worker that dies loses the one task it was at.
namespace lsecheck {

struct WorkerLimits {
  std::chrono::milliseconds task_time{120'000};  // then the worker is killed
  std::uint64_t memory_bytes = 0;                // beyond what the program has when the worker starts; 0: no limit
};

struct WorkerTask {
  std::size_t group = 0;
  std::string request;
  unsigned patience = 1;  // times task_time
};

struct WorkerAnswer {
  std::string reply;
  std::string death;       // how the worker died at the task, "crashed: Segmentation fault"; empty: it replied
  bool by_itself = false;  // it died of what it did, not at its limit of time or memory
  std::uint32_t mark = 0;  // what the handler marked last

  bool given_up() const { return reply.empty() && death.empty(); }
};

class WorkerPool {
 public:
  // Runs in the worker. Marks say how far it is, for the answer if it dies. std::bad_alloc counts as the death of the
  // worker by its memory limit; any other exception is thrown in the parent, as std::runtime_error, in the place of the
  // answer. A reply to what was submitted is not empty.
  using Mark = std::function<void(std::uint32_t)>;
  using Handler = std::function<std::string(std::string_view request, const Mark& mark)>;

  // Workers are forked when they are needed, with all that the handler holds; the process must have no other threads.
  WorkerPool(Handler handler, std::size_t jobs, WorkerLimits limits);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // At most `jobs` tasks run at once, and they begin in the order in which they are submitted. next() gives the answer
  // of the first submitted task that it has not answered yet, so that many can be under way while answers stay in
  // order.
  void submit(WorkerTask task);
  WorkerAnswer next();
  // The same; nullopt soon after `stop` is set, if there is none then.
  std::optional<WorkerAnswer> next(const std::atomic<bool>& stop);
  // The answer of a task that begins before all that wait, whether its group was given up or not.
  WorkerAnswer ask(WorkerTask task);
  // Ends the group's workers. Its tasks that next() has not answered answer with no reply and no death.
  void give_up(std::size_t group);

  // Answers in the order of the tasks, of a pool without others. After `deaths` deaths among a group's answers it is
  // given up.
  std::vector<WorkerAnswer> run(const std::vector<WorkerTask>& tasks, unsigned deaths);

 private:
  struct Slot;
  struct Worker;

  void run_until_answered(const Slot& slot, const std::atomic<bool>& stop);
  void begin_tasks();
  void begin(Slot& slot);
  void take_answers(bool wait);
  void take_reply(Worker& worker);
  void answer(Worker& worker, WorkerAnswer answer);
  void remove_ended_workers();
  std::chrono::milliseconds time_of(const WorkerTask& task) const;
  Worker& idle_worker(std::size_t group);
  std::unique_ptr<Worker> start(std::size_t group);
  [[noreturn]] void serve(int channel, std::uint32_t* mark);

  Handler handler_;
  std::size_t jobs_;
  WorkerLimits limits_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::list<Slot> slots_;   // submitted, not yet answered by next()
  Slot* urgent_ = nullptr;  // asked
  std::set<std::size_t> given_up_;
  std::size_t busy_ = 0;  // workers at a task
};

}  // namespace lsecheck
