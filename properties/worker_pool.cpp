#include "properties/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace lsecheck {
namespace {

using Clock = std::chrono::steady_clock;

// Exit codes of a worker that ends itself.
constexpr int kOutOfMemory = 86;
constexpr int kParentGone = 87;

enum class ReplyKind : std::uint8_t { reply, error };

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

bool write_all(int descriptor, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    // Writing to a worker that is gone must not be a signal.
    const ssize_t written = ::send(descriptor, from, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, void* data, std::size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = ::read(descriptor, to, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool write_message(int descriptor, std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  return write_all(descriptor, &size, sizeof size) && write_all(descriptor, bytes.data(), bytes.size());
}

// nullopt when the other end is gone. A size that no message has comes from a worker whose memory is damaged.
std::optional<std::string> read_message(int descriptor) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  std::uint64_t size = 0;
  if (!read_all(descriptor, &size, sizeof size) || size > kMost) return std::nullopt;
  std::string bytes(size, '\0');
  if (!read_all(descriptor, bytes.data(), size)) return std::nullopt;
  return bytes;
}

// Of private memory: the sixth number of statm. Not the address space: the law of huge grids maps far more of that than
// it ever touches.
std::uint64_t private_memory_in_use() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  for (int field = 0; field < 6; ++field) statm >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_memory(std::uint64_t bytes) {
  const rlim_t limit = private_memory_in_use() + bytes;
  const rlimit both{limit, limit};
  ::setrlimit(RLIMIT_DATA, &both);
}

std::string death_of(int status, const WorkerLimits& limits) {
  if (WIFSIGNALED(status)) return fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    return fmt::format("took more than the {} MiB of memory that it may", limits.memory_bytes >> 20);
  }
  return fmt::format("ended its process with exit code {}", WEXITSTATUS(status));
}

}  // namespace

struct WorkerPool::Worker {
  std::size_t group = 0;
  pid_t process = -1;
  int channel = -1;
  std::uint32_t* mark = nullptr;  // shared with the worker
  std::optional<std::size_t> task;
  Clock::time_point deadline;

  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (process > 0) end();
    close_channel();
    if (mark != nullptr) ::munmap(mark, sizeof *mark);
  }

  void close_channel() {
    if (channel >= 0) ::close(std::exchange(channel, -1));
  }
  // The wait status; that of a worker that dies by itself is decided before its channel closes.
  int end() {
    ::kill(process, SIGKILL);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = -1;
    return status;
  }
};

WorkerPool::WorkerPool(Handler handler, std::size_t jobs, WorkerLimits limits)
    : handler_(std::move(handler)), jobs_(std::max<std::size_t>(jobs, 1)), limits_(limits) {}

WorkerPool::~WorkerPool() = default;

void WorkerPool::serve(int channel, std::uint32_t* mark) {
  const auto set_mark = [mark](std::uint32_t value) { std::atomic_ref(*mark).store(value); };
  while (const auto request = read_message(channel)) {
    std::string message(1, static_cast<char>(ReplyKind::reply));
    try {
      message += handler_(*request, set_mark);
    } catch (const std::bad_alloc&) {
      ::_exit(kOutOfMemory);
    } catch (const std::exception& error) {
      message.assign(1, static_cast<char>(ReplyKind::error));
      message += error.what();
    }
    if (!write_message(channel, message)) break;
  }
  ::_exit(kParentGone);
}

std::unique_ptr<WorkerPool::Worker> WorkerPool::start(std::size_t group) {
  auto worker = std::make_unique<Worker>();
  worker->group = group;
  void* const shared = ::mmap(nullptr, sizeof *worker->mark, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("cannot share memory with a worker process");
  worker->mark = static_cast<std::uint32_t*>(shared);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("cannot talk to a worker process");
  worker->channel = ends[0];
  const pid_t parent = ::getpid();
  std::fflush(nullptr);  // what is buffered must not be written by both
  worker->process = ::fork();
  if (worker->process == 0) {
    // It must not outlive the program, however that ends.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kParentGone);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const auto& other : workers_) other->close_channel();
    worker->close_channel();
    if (limits_.memory_bytes > 0) limit_memory(limits_.memory_bytes);
    serve(ends[1], worker->mark);
  }
  ::close(ends[1]);
  if (worker->process < 0) fail("cannot start a worker process");
  return worker;
}

// Started where all of the group's are busy. At most `jobs` of a group, for no more tasks run at once.
WorkerPool::Worker& WorkerPool::idle_worker(std::size_t group) {
  for (const auto& worker : workers_) {
    if (worker->group == group && !worker->task) return *worker;
  }
  return *workers_.emplace_back(start(group));
}

// One call of run().
class WorkerPool::Batch {
 public:
  Batch(WorkerPool& pool, const std::vector<WorkerTask>& tasks, unsigned give_up)
      : pool_(pool), tasks_(tasks), give_up_(give_up), answers_(tasks.size()), waiting_(tasks.size()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) waiting_[i] = i;
  }

  std::vector<WorkerAnswer> run() {
    while (busy_ > 0 || !waiting_.empty()) {
      begin_tasks();
      if (busy_ > 0) take_answers();
    }
    return std::move(answers_);
  }

 private:
  void begin_tasks() {
    std::erase_if(waiting_, [&](std::size_t i) {
      const std::size_t group = tasks_[i].group;
      if (deaths_[group] >= give_up_) return true;
      if (busy_ >= pool_.jobs_) return false;
      begin(pool_.idle_worker(group), i);
      return true;
    });
  }

  void begin(Worker& worker, std::size_t i) {
    std::atomic_ref(*worker.mark).store(0);
    worker.task = i;
    worker.deadline = Clock::now() + time_of(tasks_[i]);
    // A worker that is already gone shows when its reply is waited for.
    static_cast<void>(write_message(worker.channel, tasks_[i].request));
    ++busy_;
  }

  // Waits for the first reply, death or deadline.
  void take_answers() {
    std::vector<pollfd> watched;
    std::vector<Worker*> workers;
    Clock::time_point first = Clock::time_point::max();
    for (const auto& worker : pool_.workers_) {
      if (!worker->task) continue;
      watched.push_back({worker->channel, POLLIN, 0});
      workers.push_back(worker.get());
      first = std::min(first, worker->deadline);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count() + 1;
    const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
    if (::poll(watched.data(), watched.size(), timeout) < 0 && errno != EINTR) fail("cannot wait for worker processes");
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].revents != 0) {
        take_reply(*workers[i]);
      } else if (Clock::now() >= workers[i]->deadline) {
        workers[i]->end();
        const std::chrono::duration<double> time = time_of(tasks_[*workers[i]->task]);
        lose(*workers[i], fmt::format("did not end within {} s", time.count()));
      }
    }
    std::erase_if(pool_.workers_, [](const auto& worker) { return worker->process < 0; });
  }

  void take_reply(Worker& worker) {
    const auto message = read_message(worker.channel);
    if (!message || message->empty()) {
      const int status = worker.end();
      return lose(worker, death_of(status, pool_.limits_));
    }
    if (message->front() == static_cast<char>(ReplyKind::error)) throw std::runtime_error(message->substr(1));
    answers_[*worker.task].reply = message->substr(1);
    worker.task.reset();
    --busy_;
  }

  // The worker has ended.
  void lose(const Worker& worker, std::string death) {
    answers_[*worker.task].death = std::move(death);
    answers_[*worker.task].mark = std::atomic_ref(*worker.mark).load();
    ++deaths_[worker.group];
    --busy_;
  }

  std::chrono::milliseconds time_of(const WorkerTask& task) const { return task.patience * pool_.limits_.task_time; }

  WorkerPool& pool_;
  const std::vector<WorkerTask>& tasks_;
  unsigned give_up_;
  std::vector<WorkerAnswer> answers_;
  std::vector<std::size_t> waiting_;  // indices of tasks, in their order
  std::map<std::size_t, unsigned> deaths_;
  std::size_t busy_ = 0;
};

std::vector<WorkerAnswer> WorkerPool::run(const std::vector<WorkerTask>& tasks, unsigned give_up) {
  return Batch(*this, tasks, give_up).run();
}

}  // namespace lsecheck
