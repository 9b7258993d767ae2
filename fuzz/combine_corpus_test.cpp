#include "fuzz/combine_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
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
  ReplaySource source(const std::string& law_glob = "*",
                      const std::vector<KernelId>& kernels = kernels_matching("*")) const {
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

// The broken kernel's inputs alone, with many partitions, 3 rows and 3 heads. Values are 0 where the seed has none.
class BrokenCorpusTest : public CombineCorpusTest {
 protected:
  BrokenCorpusTest() {
    for (const std::string& path : inputs()) {
      std::string bytes = read_whole_text(path);
      std::filesystem::remove(path);
      if (fuzz::decode_combine_case({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})
              ->tensors.spec.kernel != kBroken) {
        continue;
      }
      bytes[5] = 29;
      bytes[6] = bytes[7] = 2;
      write("input-" + std::to_string(count_++), bytes);
    }
  }

  std::vector<Replay> replayed_broken(const std::function<void(const CombineShape&)>& misdeed, bool isolated,
                                      unsigned jobs = 1) const {
    const BrokenKernel broken(*registered_kernel(kBroken), misdeed);
    const KernelInPlace in_place(broken);
    return replayed(source("accuracy"), isolated ? std::optional(WorkerLimits{}) : std::nullopt, jobs);
  }
  void keep_first_input_alone() {
    for (const std::string& path : inputs()) {
      if (path != inputs().front()) std::filesystem::remove(path);
    }
  }

  std::size_t count_ = 0;
};

CaseTensors case_of(const Replay& replay) {
  return load_case(replay.case_file, 1 << 28).tensors;
}

Replay replayed_again(const Replay& replay) {
  const auto reference = make_reference(ReferenceKind::certified);
  return replay_case_files({replay.case_file}, old_failures(1 << 28), *reference).front();
}

// A failure names the input and the law, and leaves a case file that fails the same law: of the first four of a kernel
// made small.
TEST_F(BrokenCorpusTest, FailuresAreMadeSmall) {
  const auto misdeed = [](const CombineShape& shape) {
    if (shape.num_partitions > 2) throw std::runtime_error("planted");
  };
  const std::vector<Replay> replays = replayed_broken(misdeed, false);
  ASSERT_EQ(replays.size(), 5u) << "one of each pair of types";
  const BrokenKernel broken(*registered_kernel(kBroken), misdeed);
  const KernelInPlace in_place(broken);
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const Replay& replay = replays[i];
    EXPECT_EQ(replay.file, inputs()[i]);
    EXPECT_EQ(replay.kernel, name_of(kBroken));
    EXPECT_EQ(replay.law, "accuracy");
    EXPECT_EQ(replay.outcome, "fails");
    EXPECT_EQ(replay.case_file, failures() + "/corpus-input-" + std::to_string(i) + ".safetensors");
    const CaseSpec spec = case_of(replay).spec;
    EXPECT_EQ(spec.num_partitions, i < 4 ? 3 : 30);
    EXPECT_EQ(spec.rows_heads(), i < 4 ? 1u : 9u);
    const Replay again = replayed_again(replay);
    EXPECT_EQ(again.outcome, "fails");
    EXPECT_THAT(again.message, HasSubstr("planted"));
    EXPECT_EQ(replay.message, again.message + (i < 4 ? "\nmade small: " + describe_spec(spec)
                                                     : "\nnot made smaller: 4 other failures of this kernel were"));
  }
  EXPECT_EQ(replayed_broken(misdeed, true, 1), replays);
  EXPECT_EQ(replayed_broken(misdeed, true, 3), replays);
}

// The first look and the second fail, no launch behind them does.
TEST_F(BrokenCorpusTest, WhatFailsAsAWholeAloneStaysAsItIs) {
  keep_first_input_alone();
  int launches = 0;
  const Replay replay = replayed_broken(
                            [&](const CombineShape&) {
                              if (++launches <= 2) throw std::runtime_error("planted");
                            },
                            false)
                            .front();
  EXPECT_GT(launches, 10);
  EXPECT_THAT(replay.message, testing::EndsWith("planted\nnot made smaller: no smaller case fails like it"));
  EXPECT_EQ(case_of(replay).spec.num_partitions, 30);
  EXPECT_EQ(case_of(replay).spec.rows_heads(), 9u);
}

TEST_F(BrokenCorpusTest, WhatHoldsAtASecondLookSaysSo) {
  keep_first_input_alone();
  int launches = 0;
  const Replay replay = replayed_broken(
                            [&](const CombineShape&) {
                              if (++launches == 1) throw std::runtime_error("planted");
                            },
                            false)
                            .front();
  EXPECT_EQ(replay.outcome, "fails");
  EXPECT_THAT(
      replay.message,
      testing::EndsWith(
          "planted\nnot made smaller: at a second look the law holds; the kernel gives other bits from call to call"));
  EXPECT_EQ(case_of(replay).spec.num_partitions, 30);
}

TEST_F(BrokenCorpusTest, ACrashIsMadeSmall) {
  keep_first_input_alone();
  const Replay replay = replayed_broken(
                            [](const CombineShape& shape) {
                              if (shape.num_partitions > 16) std::abort();
                            },
                            true)
                            .front();
  const CaseSpec spec = case_of(replay).spec;
  EXPECT_EQ(spec.num_partitions, 17);
  EXPECT_EQ(spec.rows_heads(), 1u);
  EXPECT_EQ(replay.message, "the process that ran the kernel crashed: Aborted\nmade small: " + describe_spec(spec));
}

TEST_F(BrokenCorpusTest, ShrinkingThatCrashesLeavesTheInputAsItIs) {
  keep_first_input_alone();
  const Replay replay = replayed_broken(
                            [](const CombineShape& shape) {
                              if (shape.num_partitions == 1) std::abort();
                              throw std::runtime_error("planted");
                            },
                            true)
                            .front();
  EXPECT_THAT(replay.message, testing::EndsWith("planted\nnot made smaller: a smaller case crashed: Aborted"));
  EXPECT_EQ(case_of(replay).spec.num_partitions, 30);
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
      EXPECT_THAT(replay.message,
                  testing::StartsWith("the process that ran the kernel crashed: Aborted\nmade small: P="));
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
