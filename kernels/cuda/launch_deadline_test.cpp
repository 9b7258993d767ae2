#include "kernels/cuda/launch_deadline.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lsecheck::cuda {
namespace {

using namespace std::chrono_literals;
using TimePoint = std::chrono::steady_clock::time_point;

// A clock that goes on only while somebody waits, and a little with every question.
class LaunchDeadline : public ::testing::Test {
 protected:
  bool ends(std::chrono::nanoseconds limit, const std::function<bool()>& has_ended) {
    return ends_within(limit,
                       [&] {
                         ++questions_;
                         now_ += 1us;
                         return has_ended();
                       },
                       {[&] { return now_; }, [&](std::chrono::nanoseconds length) { now_ += length; }});
  }
  TimePoint now_{};
  int questions_ = 0;
};

TEST_F(LaunchDeadline, WorkThatHasEndedIsAskedOnce) {
  EXPECT_TRUE(ends(0ns, [] { return true; }));
  EXPECT_EQ(questions_, 1);
}

TEST_F(LaunchDeadline, WorkThatEndsBeforeTheLimitEnds) {
  EXPECT_TRUE(ends(60s, [&] { return now_ - TimePoint{} >= 59s; }));
}

TEST_F(LaunchDeadline, WorkThatNeverEndsIsGivenUpSoonAfterTheLimitAndNotBefore) {
  EXPECT_FALSE(ends(2s, [] { return false; }));
  EXPECT_GT(now_ - TimePoint{}, 2s);
  EXPECT_LT(now_ - TimePoint{}, 2001ms);
}

TEST_F(LaunchDeadline, WaitingDoesNotKeepTheProcessorBusy) {
  EXPECT_FALSE(ends(2s, [] { return false; }));
  EXPECT_LT(questions_, 50'000);
}

// Between the clock and the question a day passes, as for a process that is stopped: the work had a day's time.
TEST_F(LaunchDeadline, WorkThatEndedWhileTheProcessStoodStillHasEnded) {
  EXPECT_TRUE(ends(1s, [&] {
    now_ += 24h;
    return questions_ == 2;
  }));
}

TEST_F(LaunchDeadline, WhatTheQuestionThrowsPassesThrough) {
  EXPECT_THROW(ends(1s, []() -> bool { throw std::runtime_error("lost"); }), std::runtime_error);
}

TEST(LaunchTimeLimit, IsAMinuteUntilItIsSet) {
  EXPECT_EQ(launch_time_limit(), 60s);
  set_launch_time_limit(1500ms);
  EXPECT_EQ(launch_time_limit(), 1500ms);
  set_launch_time_limit(kDefaultLaunchTimeLimit);
}

}  // namespace
}  // namespace lsecheck::cuda
