#include "properties/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "kernels/simt/fiber_sanitizer.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;

// What a request asks of the worker.
std::string obey(std::string_view request, const WorkerPool::Mark& mark) {
  mark(7);
  if (request == "crash") std::abort();
  if (request == "store to nowhere") {
    void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
  }
  if (request == "hang") {
    for (;;) ::pause();
  }
  if (request == "exit") ::_exit(3);
  if (request == "throw") throw std::runtime_error("no space left");
  if (request == "out of memory") throw std::bad_alloc();
  return "done " + std::string(request) + " by " + std::to_string(::getpid());
}

std::vector<WorkerTask> tasks_of(const std::vector<std::pair<std::size_t, std::string>>& requests) {
  std::vector<WorkerTask> tasks;
  tasks.reserve(requests.size());
  for (const auto& [group, request] : requests) tasks.push_back({group, request});
  return tasks;
}

constexpr unsigned kNever = 100;
constexpr bool kSanitized = simt::fiber_sanitizer::kActive;

std::string process_of(const WorkerAnswer& answer) {
  return answer.reply.substr(answer.reply.rfind(' '));
}

TEST(WorkerPool, AnswersInOrderAndKeepsGroupsApart) {
  WorkerPool pool(obey, 2, {});
  const auto answers = pool.run(tasks_of({{0, "a"}, {1, "b"}, {0, "c"}, {1, "d"}}), kNever);
  ASSERT_EQ(answers.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(answers[i].reply, HasSubstr(std::string("done ") + static_cast<char>('a' + i)));
    EXPECT_EQ(answers[i].death, "");
  }
  for (const std::size_t of_group_0 : {0, 2}) {
    for (const std::size_t of_group_1 : {1, 3}) {
      EXPECT_NE(process_of(answers[of_group_0]), process_of(answers[of_group_1]));
    }
  }
}

// With two jobs a second worker may begin the group's next task while the first is still to reply.
TEST(WorkerPool, AWorkerIsKeptForItsGroup) {
  WorkerPool pool(obey, 1, {});
  const auto answers = pool.run(tasks_of({{0, "a"}, {1, "b"}, {0, "c"}, {1, "d"}}), kNever);
  EXPECT_EQ(process_of(answers[0]), process_of(answers[2]));
  EXPECT_EQ(process_of(answers[1]), process_of(answers[3]));
  EXPECT_EQ(process_of(pool.run(tasks_of({{0, "e"}}), kNever)[0]), process_of(answers[0]));
}

TEST(WorkerPool, ADeathCostsOneTask) {
  WorkerLimits limits;
  limits.task_time = std::chrono::milliseconds(300);
  WorkerPool pool(obey, 3, limits);
  const auto answers = pool.run(
      tasks_of({{0, "a"}, {0, "crash"}, {0, "b"}, {1, "hang"}, {1, "c"}, {2, "exit"}, {2, "out of memory"}, {2, "d"}}),
      kNever);
  EXPECT_THAT(answers[1].death, HasSubstr("crashed: Aborted"));
  EXPECT_EQ(answers[1].mark, 7U) << "how far it came";
  EXPECT_TRUE(answers[1].by_itself);
  EXPECT_FALSE(answers[3].by_itself);
  EXPECT_FALSE(answers[6].by_itself);
  EXPECT_THAT(answers[3].death, HasSubstr("did not end within 0.3 s"));
  EXPECT_THAT(answers[5].death, HasSubstr("exit code 3"));
  EXPECT_THAT(answers[6].death, HasSubstr("of memory that it may"));
  for (const std::size_t i : {0, 2, 4, 7}) {
    EXPECT_EQ(answers[i].death, "") << i;
    EXPECT_THAT(answers[i].reply, HasSubstr("done ")) << i;
  }
}

TEST(WorkerPool, AGroupThatKeepsDyingIsGivenUp) {
  WorkerPool pool(obey, 1, {});
  const auto answers = pool.run(tasks_of({{0, "exit"}, {0, "exit"}, {0, "a"}, {1, "b"}, {0, "c"}}), 2);
  EXPECT_NE(answers[0].death, "");
  EXPECT_NE(answers[1].death, "");
  EXPECT_EQ(answers[2].reply + answers[2].death, "");
  EXPECT_EQ(answers[4].reply + answers[4].death, "");
  EXPECT_THAT(answers[3].reply, HasSubstr("done b"));
}

// While the first task of a stream takes its time others are answered behind it; what is asked goes first.
TEST(WorkerPool, AStreamAnswersInOrderAndWhatIsAskedGoesFirst) {
  WorkerPool pool(
      [](std::string_view request, const WorkerPool::Mark&) {
        static int tasks = 0;
        if (request == "slow") ::usleep(200'000);
        return std::string(request) + std::to_string(++tasks);
      },
      2, {});
  for (const char* request : {"slow", "a", "b", "c"}) pool.submit({0, request});
  EXPECT_EQ(pool.next().reply, "slow1");
  EXPECT_EQ(pool.next().reply, "a1");
  EXPECT_EQ(pool.ask({1, "asked"}).reply, "asked1");
  pool.submit({0, "d"});
  for (const char first : {'b', 'c', 'd'}) EXPECT_EQ(pool.next().reply.front(), first);
}

// Those answered already, those at work and those that wait; other groups and what is asked are not concerned.
TEST(WorkerPool, WhatIsGivenUpHasNoAnswers) {
  WorkerPool pool(obey, 2, {});
  for (const char* request : {"a", "b", "hang", "c"}) pool.submit({0, request});
  pool.submit({1, "d"});
  EXPECT_THAT(pool.next().reply, HasSubstr("done a"));
  pool.give_up(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.next().given_up());
  EXPECT_THAT(pool.next().reply, HasSubstr("done d"));
  pool.submit({0, "e"});
  EXPECT_TRUE(pool.next().given_up());
  EXPECT_THAT(pool.ask({0, "f"}).reply, HasSubstr("done f"));
}

std::atomic<bool> stopped{false};

// As Ctrl-C does while a worker hangs.
TEST(WorkerPool, AStopEndsTheWait) {
  WorkerPool pool(obey, 2, {});
  for (const char* request : {"a", "hang", "b"}) pool.submit({0, request});
  stopped = false;
  EXPECT_THAT(pool.next(stopped).value().reply, HasSubstr("done a"));
  const auto before = std::signal(SIGALRM, [](int) { stopped = true; });
  ::ualarm(100'000, 0);
  EXPECT_EQ(pool.next(stopped), std::nullopt);
  std::signal(SIGALRM, before);
  EXPECT_TRUE(stopped);
}

TEST(WorkerPool, AnExceptionOfTheWorkComesThrough) {
  WorkerPool pool(obey, 1, {});
  try {
    pool.run(tasks_of({{0, "a"}, {0, "throw"}}), kNever);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no space left");
  }
}

TEST(WorkerPool, PatienceMultipliesTheTime) {
  WorkerLimits limits;
  limits.task_time = std::chrono::milliseconds(100);
  const auto slow = [](std::string_view, const WorkerPool::Mark&) {
    ::usleep(300'000);
    return std::string("late");
  };
  WorkerPool pool(slow, 1, limits);
  EXPECT_EQ(pool.run({{0, "", 1}}, kNever)[0].reply, "");
  EXPECT_EQ(pool.run({{0, "", 100}}, kNever)[0].reply, "late");
}

TEST(WorkerPool, AStoreToNowhereIsACrash) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer turns the signal into a report and an exit code";
  WorkerPool pool(obey, 1, {});
  EXPECT_THAT(pool.run(tasks_of({{0, "store to nowhere"}}), kNever)[0].death, HasSubstr("crashed: Segmentation fault"));
}

TEST(WorkerPool, ALeakMeetsTheLimit) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's operator new ends the process where it should throw bad_alloc";
  WorkerLimits limits;
  limits.memory_bytes = 64 << 20;
  const auto leak = [](std::string_view request, const WorkerPool::Mark&) {
    if (request == "leak") {
      [[maybe_unused]] static char* volatile lost = nullptr;  // a compiler may leave out what nobody can see
      for (;;) lost = new char[1 << 20];
    }
    return std::string("kept");
  };
  WorkerPool pool(leak, 1, limits);
  const auto answers = pool.run(tasks_of({{0, "a"}, {0, "leak"}, {0, "b"}}), kNever);
  EXPECT_THAT(answers[1].death, HasSubstr("took more than the 64 MiB of memory"));
  EXPECT_EQ(answers[0].reply + answers[2].reply, "keptkept");
}

}  // namespace
}  // namespace lsecheck
