#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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
  std::uint32_t mark = 0;  // what the handler marked last
};

class WorkerPool {
 public:
  // Runs in the worker. Marks say how far it is, for the answer if it dies. std::bad_alloc counts as the death of the
  // worker by its memory limit; any other exception ends run() in the parent, which throws std::runtime_error.
  using Mark = std::function<void(std::uint32_t)>;
  using Handler = std::function<std::string(std::string_view request, const Mark& mark)>;

  // Workers are forked when they are needed, with all that the handler holds; the process must have no other threads.
  WorkerPool(Handler handler, std::size_t jobs, WorkerLimits limits);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Answers in the order of the tasks. At most `jobs` run at once; tasks of a group begin in their order. A group that
  // has lost `give_up` workers begins no further task in this call: those answer with no reply and no death.
  std::vector<WorkerAnswer> run(const std::vector<WorkerTask>& tasks, unsigned give_up);

 private:
  struct Worker;
  class Batch;

  Worker& idle_worker(std::size_t group);
  std::unique_ptr<Worker> start(std::size_t group);
  [[noreturn]] void serve(int channel, std::uint32_t* mark);

  Handler handler_;
  std::size_t jobs_;
  WorkerLimits limits_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace lsecheck
