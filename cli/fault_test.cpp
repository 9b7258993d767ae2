// Runs that are killed, or whose disk fails under them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/shell_test_directory.h"

namespace lsecheck::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kOneLine = "lsecheck: [^\n]+\n";

class Fault : public testing::Test {
 protected:
  ShellTestDirectory directory_;
};

// The run is killed at another moment each time and goes on until it is done; nothing is lost and nothing counts twice.
void kill_and_resume(const ShellTestDirectory& directory, const std::string& options) {
  ASSERT_EQ(directory.run("lsecheck run --cases 256 --jobs 1 --json whole.json >/dev/null").exit_code, 0);
  int killed = 0;
  std::string resume;
  for (int attempt = 0; attempt < 60; ++attempt) {
    // 30 ms to 0.4 s, in no order.
    const int milliseconds = 30 + attempt * 137 % 370;
    const Outcome outcome = directory.run(
        fmt::format("timeout -s KILL 0.{:03} \"$LSECHECK\" run --cases 256 --db r.db{}{} --json r.json >/dev/null",
                    milliseconds, options, resume));
    if (outcome.exit_code == 0) break;
    if (outcome.exit_code == 2) {  // killed before the store was one: the message says what to do
      EXPECT_THAT(outcome.err, HasSubstr("delete it and run again"));
      fs::remove(directory.cwd() / "r.db");
    } else {
      ASSERT_EQ(outcome.exit_code, 137) << outcome.err;
      ++killed;
    }
    resume = fs::exists(directory.cwd() / "r.db") ? " --resume" : "";
  }
  EXPECT_GT(killed, 2);
  const Outcome last = directory.run("lsecheck run --cases 256 --db r.db" + options + resume +
                                     " --json r.json >/dev/null; cmp whole.json r.json");
  EXPECT_EQ(last.exit_code, 0) << last.out << last.err;
}

TEST_F(Fault, KilledAtAnyMomentARunLosesNothing) {
  kill_and_resume(directory_, " --jobs 1 --no-isolate");
}

TEST_F(Fault, KilledAtAnyMomentAnIsolatedRunLosesNothing) {
  kill_and_resume(directory_, " --jobs 2");
}

// The same of a night, most of whose time are hunts.
TEST_F(Fault, KilledAtAnyMomentANightLosesNothing) {
  const std::string night = "nightly --cases 64 --seed 3 --kernel fa4_ws_level1_combine --hunt 1 --jobs 1 --out ";
  ASSERT_EQ(directory_.run("lsecheck " + night + "whole >/dev/null").exit_code, 0);
  int killed = 0;
  Outcome outcome{};
  for (int attempt = 0; attempt < 40; ++attempt) {
    const bool resume = fs::exists(directory_.cwd() / "n/run.db");
    const int tenths = 4 + 3 * attempt;
    outcome = directory_.run(fmt::format("timeout -s KILL {}.{} \"$LSECHECK\" {}n{} >/dev/null", tenths / 10,
                                         tenths % 10, night, resume ? " --resume" : ""));
    if (outcome.exit_code == 2) {  // killed before the store was one: the message says what to do
      fs::remove(directory_.cwd() / "n/run.db");
      continue;
    }
    if (outcome.exit_code != 137) break;
    ++killed;
  }
  EXPECT_GT(killed, 0);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(directory_.run("cmp whole/results.json n/results.json").exit_code, 0);
}

// Ctrl-C keeps what was found. Gone on with, in other processes or in none, it is the uninterrupted hunt.
TEST_F(Fault, AnInterruptedHuntGoesOn) {
  const std::string hunt = "hunt --kernel mha_splitk_reduce --partitions 2 --regime narrow --jobs 2 --evaluations ";
  for (const std::string stopped : {"", " --no-isolate"}) {
    const std::string other = stopped.empty() ? " --no-isolate" : "";
    // A terminal tells every process of the command.
    const Outcome outcome = directory_.run(fmt::format(
        "rm -rf a b; setsid \"$LSECHECK\" {}4000000 --into a{} & hunt=$!; sleep 0.6; kill -s INT -- -$hunt; wait $hunt",
        hunt, stopped));
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_EQ(outcome.err, "lsecheck: interrupted; what was found is in a, go on with --resume\n");
    EXPECT_THAT(outcome.out, MatchesRegex(".*\nmha_splitk_reduce +log2 +narrow +2 +[0-9]+ +[0-9.-]+\n"));
    const Outcome resumed = directory_.run(fmt::format(
        "n=$(sed -n 's/.*exponent=log2 .*islands=//p' a/*.txt); n=$(((n + 1) * 4096)); "
        "lsecheck {0}$n --into a --resume{1} >/dev/null && lsecheck {0}$n --into b >/dev/null && diff -r a b",
        hunt, other));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  }
}

// The workers of a killed run end with it.
TEST_F(Fault, WorkersDoNotOutliveTheRun) {
  const Outcome outcome = directory_.run(
      "\"$LSECHECK\" run --cases 100000 >/dev/null 2>&1 & run=$!; children=/proc/$run/task/$run/children; "
      "for i in $(seq 100); do [ $(wc -w <$children) -ge 2 ] && break; sleep 0.05; done; workers=$(cat $children); "
      "echo workers $(echo $workers | wc -w); kill -9 $run; wait $run; "
      "for i in $(seq 100); do left=0; for w in $workers; do kill -0 $w 2>/dev/null && left=1; done; "
      "[ $left = 0 ] && break; sleep 0.05; done; echo left $left");
  EXPECT_THAT(outcome.out, MatchesRegex("workers ([2-9]|[1-9][0-9]+)\nleft 0\n"));
}

// So do the shards of a killed night, with their workers.
TEST_F(Fault, ShardsDoNotOutliveTheNight) {
  const Outcome outcome = directory_.run(
      "\"$LSECHECK\" nightly --devices 2 --cases 100000 --jobs 1 --out night >/dev/null 2>&1 & night=$!; "
      "children() { cat /proc/$1/task/$1/children 2>/dev/null; }; "
      "for i in $(seq 200); do shards=$(children $night); workers=; n=0; "
      "for s in $shards; do w=$(children $s); [ -n \"$w\" ] && n=$((n+1)); workers=\"$workers $w\"; done; "
      "[ $n = 2 ] && break; sleep 0.05; done; echo shards with workers $n; kill -9 $night; wait $night; "
      "for i in $(seq 200); do left=0; for p in $shards $workers; do kill -0 $p 2>/dev/null && left=1; done; "
      "[ $left = 0 ] && break; sleep 0.05; done; echo left $left");
  EXPECT_EQ(outcome.out, "shards with workers 2\nleft 0\n");
}

// A file that may not grow behaves as one on a full disk.
TEST_F(Fault, AFullDiskEndsTheRunWithOneLineAndAWholeStore) {
  ASSERT_EQ(directory_.run("lsecheck run --cases 400 --json whole.json >/dev/null").exit_code, 0);
  const Outcome full = directory_.run("ulimit -f 400; lsecheck run --cases 400 --db r.db >/dev/null");
  EXPECT_EQ(full.exit_code, 4);
  EXPECT_THAT(full.err, MatchesRegex(kOneLine));
  EXPECT_THAT(full.err, HasSubstr("r.db"));
  EXPECT_EQ(directory_.run("lsecheck report r.db >/dev/null").exit_code, 0);
  const Outcome resumed =
      directory_.run("lsecheck run --cases 400 --db r.db --resume --json r.json >/dev/null; cmp whole.json r.json");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
}

// The kernel's own folders take no files, whoever asks.
TEST_F(Fault, AReadOnlyFolderIsOneLine) {
  for (const char* arguments :
       {"run --cases 2 --db /sys/r.db", "run --cases 2 --json /sys/r.json", "run --cases 2 --junit /sys/r.xml",
        "nightly --cases 2 --seed 1 --out /sys/night", "diff --against \"$LSECHECK\" --cases 2 --list /sys/l.txt"}) {
    const Outcome outcome = directory_.run(std::string("lsecheck ") + arguments);
    EXPECT_EQ(outcome.exit_code, 4) << arguments;
    EXPECT_THAT(outcome.err, MatchesRegex(kOneLine)) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("/sys/")) << arguments;
  }
}

// Whatever part of a case file is left, and whichever bit of its header flips, it is replayed as it was or refused.
TEST_F(Fault, ADamagedCaseFileIsRefusedOrHarmless) {
  ASSERT_EQ(directory_
                .run("lsecheck repro lse1-amaasaaqaaaacaaaaiaqcqaaaaaaaaaaaaae7zytd4 --save whole.safetensors "
                     ">/dev/null")
                .exit_code,
            3);
  const std::string whole = contents_of(directory_.cwd() / "whole.safetensors");
  ASSERT_GT(whole.size(), 500U);
  const auto expect_an_answer = [&](const std::string& bytes, const std::string& what, bool may_run) {
    std::ofstream(directory_.cwd() / "c.safetensors", std::ios::binary | std::ios::trunc) << bytes;
    const Outcome outcome = directory_.run("lsecheck repro c.safetensors");
    if (may_run && (outcome.exit_code == 3 || outcome.exit_code == 1)) return;
    EXPECT_EQ(outcome.exit_code, 2) << what << outcome.err;
    EXPECT_THAT(outcome.err, MatchesRegex(kOneLine)) << what;
  };
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 12) {
    expect_an_answer(whole.substr(0, size), "cut to " + std::to_string(size), false);
  }
  for (std::size_t i = 0; i < 24; ++i) {
    std::string flipped = whole;
    const std::size_t at = i * 29 % 600;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << i % 8));
    expect_an_answer(flipped, "bit " + std::to_string(i % 8) + " of byte " + std::to_string(at), true);
  }
}

}  // namespace
}  // namespace lsecheck::cli
