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
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

namespace lsecheck {
namespace {

using Clock = std::chrono::steady_clock;

// Exit codes of a worker that ends itself.
constexpr int kOutOfMemory = 86;
constexpr int kParentGone = 87;

const std::atomic<bool> kNever{false};
// A signal ends a wait, and so lets what it stops be seen, unless it comes just before.
constexpr std::chrono::milliseconds kLongestWait{200};

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

WorkerAnswer death_of(int status, const WorkerLimits& limits) {
  WorkerAnswer answer;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) {
    answer.death = fmt::format("took more than the {} MiB of memory that it may", limits.memory_bytes >> 20);
    return answer;
  }
  answer.by_itself = true;
  answer.death = WIFSIGNALED(status) ? fmt::format("crashed: {}", strsignal(WTERMSIG(status)))
                                     : fmt::format("ended its process with exit code {}", WEXITSTATUS(status));
  return answer;
}

}  // namespace

struct WorkerPool::Slot {
  WorkerTask task;
  bool begun = false;
  bool answered = false;
  WorkerAnswer answer;
  std::optional<std::string> error;  // in the place of an answer

  WorkerAnswer take() {
    if (error) throw std::runtime_error(*error);
    return std::move(answer);
  }
};

struct WorkerPool::Worker {
  std::size_t group = 0;
  pid_t process = -1;
  int channel = -1;
  std::uint32_t* mark = nullptr;  // shared with the worker
  Slot* slot = nullptr;           // the task it is at
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
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // what foreign code prints does not stand among the results
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
    if (worker->group == group && worker->slot == nullptr) return *worker;
  }
  return *workers_.emplace_back(start(group));
}

void WorkerPool::submit(WorkerTask task) {
  Slot& slot = slots_.emplace_back();
  slot.answered = given_up_.contains(task.group);
  slot.task = std::move(task);
}

WorkerAnswer WorkerPool::next() {
  return next(kNever).value();
}

std::optional<WorkerAnswer> WorkerPool::next(const std::atomic<bool>& stop) {
  run_until_answered(slots_.front(), stop);
  if (!slots_.front().answered) return std::nullopt;
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  return slot.take();
}

WorkerAnswer WorkerPool::ask(WorkerTask task) {
  Slot slot;
  slot.task = std::move(task);
  urgent_ = &slot;
  run_until_answered(slot, kNever);
  return slot.take();
}

void WorkerPool::give_up(std::size_t group) {
  given_up_.insert(group);
  for (const auto& worker : workers_) {
    if (worker->group != group) continue;
    worker->end();
    if (worker->slot != nullptr) answer(*worker, {});
  }
  remove_ended_workers();
  for (Slot& slot : slots_) {
    if (slot.task.group != group) continue;
    slot.answered = true;
    slot.answer = {};
    slot.error.reset();
  }
}

std::vector<WorkerAnswer> WorkerPool::run(const std::vector<WorkerTask>& tasks, unsigned deaths) {
  for (const WorkerTask& task : tasks) submit(task);
  std::vector<WorkerAnswer> answers;
  std::map<std::size_t, unsigned> deaths_of;
  for (const WorkerTask& task : tasks) {
    answers.push_back(next());
    if (!answers.back().death.empty() && ++deaths_of[task.group] == deaths) give_up(task.group);
  }
  return answers;
}

// Looks after the workers at least once, so that those who have replied get further tasks.
void WorkerPool::run_until_answered(const Slot& slot, const std::atomic<bool>& stop) {
  do {
    begin_tasks();
    take_answers(!slot.answered);
  } while (!slot.answered && !stop);
}

void WorkerPool::begin_tasks() {
  if (urgent_ != nullptr && busy_ < jobs_) begin(*std::exchange(urgent_, nullptr));
  for (Slot& slot : slots_) {
    if (busy_ >= jobs_) return;
    if (!slot.begun && !slot.answered) begin(slot);
  }
}

void WorkerPool::begin(Slot& slot) {
  Worker& worker = idle_worker(slot.task.group);
  std::atomic_ref(*worker.mark).store(0);
  worker.slot = &slot;
  worker.deadline = Clock::now() + time_of(slot.task);
  // A worker that is already gone shows when its reply is waited for.
  static_cast<void>(write_message(worker.channel, slot.task.request));
  slot.begun = true;
  ++busy_;
}

// Those that are there; with `wait`, from the first reply, death or deadline on, or none after a while.
void WorkerPool::take_answers(bool wait) {
  std::vector<pollfd> watched;
  std::vector<Worker*> workers;
  Clock::time_point first = Clock::time_point::max();
  for (const auto& worker : workers_) {
    if (worker->slot == nullptr) continue;
    watched.push_back({worker->channel, POLLIN, 0});
    workers.push_back(worker.get());
    first = std::min(first, worker->deadline);
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count() + 1;
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestWait.count()));
  if (::poll(watched.data(), watched.size(), wait ? timeout : 0) < 0 && errno != EINTR) {
    fail("cannot wait for worker processes");
  }
  for (std::size_t i = 0; i < watched.size(); ++i) {
    Worker& worker = *workers[i];
    if (watched[i].revents != 0) {
      take_reply(worker);
    } else if (Clock::now() >= worker.deadline) {
      worker.end();
      WorkerAnswer death;
      death.death =
          fmt::format("did not end within {} s", std::chrono::duration<double>(time_of(worker.slot->task)).count());
      answer(worker, std::move(death));
    }
  }
  remove_ended_workers();
}

void WorkerPool::take_reply(Worker& worker) {
  const auto message = read_message(worker.channel);
  if (!message || message->empty()) {
    const int status = worker.end();
    return answer(worker, death_of(status, limits_));
  }
  std::string content = message->substr(1);
  if (message->front() == static_cast<char>(ReplyKind::error)) {
    worker.slot->error = std::move(content);
    content.clear();
  }
  answer(worker, {std::move(content), "", false, 0});
}

void WorkerPool::answer(Worker& worker, WorkerAnswer answer) {
  answer.mark = std::atomic_ref(*worker.mark).load();
  worker.slot->answer = std::move(answer);
  worker.slot->answered = true;
  worker.slot = nullptr;
  --busy_;
}

void WorkerPool::remove_ended_workers() {
  std::erase_if(workers_, [](const auto& worker) { return worker->process < 0; });
}

std::chrono::milliseconds WorkerPool::time_of(const WorkerTask& task) const {
  return task.patience * limits_.task_time;
}

}  // namespace lsecheck
