#include "fuzz/combine_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "fuzz/combine_case_input.h"
#include "kernels/registry.h"
#include "properties/case_file.h"
#include "properties/case_kernel.h"
#include "properties/runner.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "properties/whole_file.h"
#include "reference/reference_kind.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;

constexpr KernelId kBroken = KernelId::mha_splitk_reduce;

class CombineCorpusTest : public testing::Test {
 protected:
  CombineCorpusTest() {
    const auto seeds = fuzz::combine_case_seeds();
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      write((i < 10 ? "seed-0" : "seed-") + std::to_string(i), {seeds[i].begin(), seeds[i].end()});
    }
  }

  void write(const std::string& name, const std::string& bytes) {
    write_file_atomically((inputs_ / name).string(), bytes);
  }
  std::vector<std::string> inputs() const { return corpus_inputs((inputs_ / ".").parent_path().string()); }
  ReplaySource source(const std::string& law_glob = "*", std::vector<KernelId> kernels = kernels_matching("*")) const {
    return corpus_source(kernels, matching_laws(law_glob), failures());
  }
  std::string failures() const { return (kept_ / "failures").string(); }
  std::vector<Replay> replayed(const ReplaySource& source, std::optional<WorkerLimits> limits = std::nullopt,
                               unsigned jobs = 1) const {
    const auto reference = make_reference(ReferenceKind::certified);
    return limits ? replay_case_files_isolated(inputs(), source, *reference, *limits, jobs)
                  : replay_case_files(inputs(), source, *reference);
  }

  TemporaryDirectory inputs_;
  TemporaryDirectory kept_;
};

TEST_F(CombineCorpusTest, EveryInputIsHeldToEveryLaw) {
  const std::vector<Replay> replays = replayed(source());
  ASSERT_EQ(replays.size(), fuzz::combine_case_seeds().size());
  for (const Replay& replay : replays) {
    EXPECT_EQ(replay, (Replay{replay.file, kCorpusInput, replay.kernel, "every law", "holds", "", ""}));
  }
  EXPECT_EQ(replayed(source(), WorkerLimits{}, 2), replays);
  EXPECT_FALSE(std::filesystem::exists(failures()));
}

TEST_F(CombineCorpusTest, OtherKernelsAreNotApplicable) {
  std::size_t held = 0;
  for (const Replay& replay : replayed(source("accuracy", {kBroken}))) {
    if (replay.outcome == "holds") {
      EXPECT_EQ(replay.kernel, name_of(kBroken));
      ++held;
    } else {
      EXPECT_EQ(replay.outcome, "not applicable");
      EXPECT_EQ(replay.message, "no kernel of this run takes it");
    }
  }
  EXPECT_EQ(held, 5u) << "one of each pair of types";
}

TEST_F(CombineCorpusTest, WhatIsNoInputIsUnreadable) {
  write("a-short-one", "abc");
  const Replay replay = replayed(source("accuracy", {kBroken})).front();
  EXPECT_EQ(replay.outcome, "unreadable");
  EXPECT_THAT(replay.message, HasSubstr("a-short-one: 3 bytes; an input of the fuzz target combine_case begins with"));
}

TEST_F(CombineCorpusTest, AFolderWithoutInputsIsRefused) {
  const TemporaryDirectory empty;
  EXPECT_THROW(corpus_inputs((empty / ".").parent_path().string()), std::invalid_argument);
  EXPECT_THROW(corpus_inputs((empty / "nowhere").string()), std::invalid_argument);
}

// A failure names the law and leaves a case file that fails the same law.
TEST_F(CombineCorpusTest, AFailureLeavesACaseFileThatReplays) {
  const BrokenKernel broken(*registered_kernel(kBroken),
                            [](const CombineShape&) { throw std::runtime_error("planted"); });
  const KernelInPlace in_place(broken);
  std::size_t failing = 0;
  for (const Replay& replay : replayed(source("accuracy"))) {
    if (replay.kernel != name_of(kBroken)) {
      EXPECT_EQ(replay.outcome, "holds") << replay.kernel;
      continue;
    }
    ++failing;
    EXPECT_EQ(replay.outcome, "fails");
    EXPECT_EQ(replay.law, "accuracy");
    EXPECT_THAT(replay.message, HasSubstr("planted"));
    const auto reference = make_reference(ReferenceKind::certified);
    const Replay again = replay_case_files({replay.case_file}, old_failures(1 << 28), *reference).front();
    EXPECT_EQ(again, (Replay{replay.case_file, kOldFailure, replay.kernel, "accuracy", "fails", replay.case_file,
                             replay.message}));
  }
  EXPECT_EQ(failing, 5u);
}

// A kernel that brings down three processes is given up; the other kernels' inputs are all looked at, whatever the
// jobs.
TEST_F(CombineCorpusTest, AKernelThatCrashesIsGivenUp) {
  const BrokenKernel broken(*registered_kernel(kBroken), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const std::vector<Replay> replays = replayed(source("accuracy"), WorkerLimits{}, 3);
  EXPECT_EQ(replayed(source("accuracy"), WorkerLimits{}, 1), replays);
  std::size_t died = 0;
  std::size_t left_out = 0;
  for (const Replay& replay : replays) {
    if (replay.outcome == "holds") continue;
    if (replay.outcome == "fails") {
      ++died;
      EXPECT_EQ(replay.message, "the process that ran the kernel crashed: Aborted");
      EXPECT_EQ(replay.law, "accuracy");
      EXPECT_TRUE(std::filesystem::exists(replay.case_file));
    } else {
      ++left_out;
      EXPECT_THAT(replay.message, HasSubstr("this kernel is run no more"));
    }
  }
  EXPECT_EQ(died, 3u);
  EXPECT_EQ(left_out, 2u);
}

}  // namespace
}  // namespace lsecheck
