// Commands over kernels that crash, hang or leak, in the place of a registered one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/shell_test_directory.h"
#include "kernels/registry.h"
#include "properties/case_draw.h"
#include "properties/laws.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "properties/token.h"

namespace lsecheck::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Ended {
  int exit_code;
  std::string out;
};

Ended lsecheck(const std::string& arguments) {
  CLI::App app{"", "lsecheck"};
  add_repro_command(app);
  add_run_command(app);
  add_outputs_command(app);
  add_diff_command(app);
  add_hunt_command(app);
  testing::internal::CaptureStdout();
  int code = kClean;
  try {
    app.parse(arguments);
  } catch (const ExitWith& end) {
    code = end.code;
  }
  return {code, testing::internal::GetCapturedStdout()};
}

Ended repro(const std::string& arguments) {
  return lsecheck("repro " + arguments);
}

std::string token_of(LawId law) {
  DrawLimits limits;
  limits.kernels = {KernelId::mha_splitk_reduce};
  return format_token({static_cast<std::uint8_t>(law), draw_spec(1, 0, limits)});
}

class Repro : public testing::Test {
 protected:
  // The kernel in its place does this before every launch.
  Ended repro_broken(const std::function<void()>& misdeed, const std::string& arguments) {
    const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [&](const CombineShape&) { misdeed(); });
    const KernelInPlace in_place(broken);
    return repro(arguments);
  }
};

TEST_F(Repro, ACrashIsTheFailureOfItsLaw) {
  const auto crash = [] { std::abort(); };
  for (const LawId law : {LawId::accuracy, LawId::every_output_written}) {
    const Ended ended = repro_broken(crash, token_of(law));
    EXPECT_EQ(ended.exit_code, kFailed);
    EXPECT_THAT(ended.out,
                MatchesRegex("case     P=.*\nlaw      " + std::string(find_law(static_cast<std::uint8_t>(law))->name) +
                             ": .*\nFAILS    the process that ran the kernel crashed: Aborted\n"));
  }
}

TEST_F(Repro, ExplainSaysWhatIsLeftToSayOfACrash) {
  const auto crash = [] { std::abort(); };
  const Ended of_accuracy = repro_broken(crash, token_of(LawId::accuracy) + " --explain");
  EXPECT_EQ(of_accuracy.exit_code, kFailed);
  EXPECT_THAT(of_accuracy.out, HasSubstr("explain  the kernel left no output to take apart\nFAILS    the process"));
  const Ended of_other = repro_broken(crash, token_of(LawId::every_output_written) + " --explain");
  EXPECT_EQ(of_other.exit_code, kFailed);
  EXPECT_THAT(of_other.out, HasSubstr("explain  the process that ran the kernel crashed: Aborted: it left no output"));
}

// The second launch of a process crashes, which is the law's own; the case's is there to be taken apart.
TEST_F(Repro, ACrashInALawLeavesTheCaseToBeExplained) {
  int launches = 0;
  const Ended ended = repro_broken(
      [&] {
        if (++launches == 2) std::abort();
      },
      token_of(LawId::every_output_written) + " --explain");
  EXPECT_EQ(ended.exit_code, kFailed);
  EXPECT_THAT(ended.out, HasSubstr("explain  row-head "));
  EXPECT_THAT(ended.out, HasSubstr("FAILS    the process that ran the kernel crashed: Aborted\n"));
}

TEST_F(Repro, AHangEndsAtItsTime) {
  const Ended ended = repro_broken(
      [] {
        for (;;) ::pause();
      },
      token_of(LawId::accuracy) + " --case-timeout 1s");
  EXPECT_EQ(ended.exit_code, kFailed);
  EXPECT_THAT(ended.out, HasSubstr("FAILS    the process that ran the kernel did not end within 1 s"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Repro, ALeakEndsAtItsLimit) {
  const Ended ended = repro_broken(
      [] {
        // A compiler may leave out what nobody can see.
        [[maybe_unused]] static char* volatile lost = nullptr;
        for (;;) lost = new char[std::size_t{100} << 20];
      },
      token_of(LawId::accuracy) + " --memory 64M");
  EXPECT_EQ(ended.exit_code, kFailed);
  EXPECT_THAT(ended.out, HasSubstr("FAILS    the process that ran the kernel took more than the 1088 MiB"));
}
#endif

TEST_F(Repro, IsolationChangesNothingOfASoundCase) {
  for (const LawId law : {LawId::accuracy, LawId::every_output_written}) {
    const Ended isolated = repro(token_of(law) + " --explain");
    const Ended here = repro(token_of(law) + " --explain --no-isolate");
    EXPECT_EQ(isolated.exit_code, kNotReproduced);
    EXPECT_EQ(here.exit_code, kNotReproduced);
    EXPECT_EQ(isolated.out, here.out);
  }
}

// The run stops after its first batch, with two of the three deaths, and goes on; the line that it prints is pasted.
TEST(CrashingKernel, AResumedRunIsTheUninterruptedRun) {
  const TemporaryDirectory folder;
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape& shape) {
    if (shape.num_partitions > 20 && shape.num_partitions % 2 == 0) std::abort();
  });
  const KernelInPlace in_place(broken);
  const std::string run = "run --cases 128 --seed 3 --law accuracy --jobs 2 --failures " + (folder / "f").string();
  const std::string store = " --db " + (folder / "r.db").string();
  const Ended uninterrupted = lsecheck(run + " --json " + (folder / "whole.json").string());
  EXPECT_EQ(uninterrupted.exit_code, kFailed);
  EXPECT_EQ(lsecheck(run + store + " --time 0s").exit_code, kFailed);
  EXPECT_EQ(lsecheck(run + store + " --resume --json " + (folder / "resumed.json").string()).exit_code, kFailed);
  const std::string whole = contents_of(folder / "whole.json");
  EXPECT_EQ(contents_of(folder / "resumed.json"), whole);
  EXPECT_THAT(whole, HasSubstr("after 3 such cases this kernel is run no more"));

  const std::string& told = uninterrupted.out;
  const std::size_t begin = told.find("lse1-", told.find("lsecheck repro "));
  ASSERT_NE(begin, std::string::npos);
  const Ended replayed = repro(told.substr(begin, told.find('\n', begin) - begin));
  EXPECT_EQ(replayed.exit_code, kFailed);
  EXPECT_THAT(replayed.out, HasSubstr("FAILS    the process that ran the kernel crashed: Aborted"));
}

void crash_at_even_counts(const CombineShape& shape) {
  if (shape.num_partitions % 2 == 0) std::abort();
}

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The dead cases say so, the others have the bits of a sound build; on any jobs.
TEST(CrashingKernel, OutputsHaveTheDeathInThePlaceOfBits) {
  const std::string outputs = "outputs --kernel 'm*' --cases 96 --jobs ";
  const Ended sound = lsecheck(outputs + "2");
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), crash_at_even_counts);
  const KernelInPlace in_place(broken);
  const Ended ended = lsecheck(outputs + "1");
  EXPECT_EQ(ended.exit_code, kClean);
  EXPECT_EQ(ended.out, lsecheck(outputs + "3").out);
  EXPECT_EQ(count_of(" ! crashed: Aborted\n", ended.out), 3U);
  EXPECT_THAT(ended.out, HasSubstr(" ! after 3 cases that brought their process down this kernel is run no more\n"));
  std::istringstream lines(ended.out), sound_lines(sound.out);
  for (std::string line, sound_line; std::getline(lines, line) && std::getline(sound_lines, sound_line);) {
    const std::string before = line.substr(0, line.find('!'));
    EXPECT_EQ(line.find('!') == std::string::npos ? line : before, sound_line.substr(0, before.size()));
  }
}

TEST(CrashingKernel, OutputsOfAHangEndAtItsTime) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) {
    for (;;) ::pause();
  });
  const KernelInPlace in_place(broken);
  const Ended ended = lsecheck("outputs --kernel mha_splitk_reduce --cases 1 --case-timeout 1s");
  EXPECT_THAT(ended.out, HasSubstr(" ! did not end within 1 s\nend 1\n"));
}

TEST(CrashingKernel, ADeathIsADifference) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), crash_at_even_counts);
  const KernelInPlace in_place(broken);
  const Ended ended = lsecheck("diff --against " LSECHECK_PROGRAM " --kernel mha_splitk_reduce --cases 40 --show 40");
  EXPECT_EQ(ended.exit_code, kFailed);
  EXPECT_EQ(count_of("  this build: crashed: Aborted\n  other build: ", ended.out), 3U);
  EXPECT_THAT(ended.out,
              ContainsRegex("mha_splitk_reduce: case [0-9]+, P=[0-9]*[02468] .*\n  this build: crashed: Aborted\n  "
                            "other build: [0-9]+ output elements\n  lsecheck repro lse1-[a-z2-7]+\n"));
  EXPECT_THAT(ended.out, HasSubstr("  this build: after 3 cases that brought their process down this kernel is run"));
  EXPECT_THAT(ended.out, ContainsRegex("mha_splitk_reduce +40 +[1-9][0-9]+ .*DIFFERENT"));
}

TEST(CrashingKernel, TheSameDeathInBothBuildsIsEqualAndSaysSo) {
  const TemporaryDirectory folder;
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), crash_at_even_counts);
  const KernelInPlace in_place(broken);
  const std::string cases = " --kernel 'm*' --cases 40";
  std::ofstream(folder / "outputs.txt") << lsecheck("outputs" + cases).out;
  std::ofstream(folder / "other") << "#!/bin/sh\ncat " << (folder / "outputs.txt").string() << "\n";
  std::filesystem::permissions(folder / "other", std::filesystem::perms::owner_all);
  const Ended ended = lsecheck("diff --against " + (folder / "other").string() + cases);
  EXPECT_EQ(ended.exit_code, kClean);
  EXPECT_THAT(
      ended.out,
      ContainsRegex("\n([0-9]+) cases gave no output, in both builds alike; the first:\nmha_splitk_reduce: case "
                    "[0-9]+, .*\n  crashed: Aborted\n  lsecheck repro lse1-"));
  EXPECT_THAT(ended.out, ContainsRegex("EQUAL: .*; [0-9]+ of them gave none, in both builds alike[.]\n"));
}

// Two targets of four die; the others are hunted as ever.
TEST(CrashingKernel, AHuntGoesOnWithOtherTargets) {
  const TemporaryDirectory folder;
  const std::string hunt = "hunt --kernel mha_splitk_reduce --regime narrow --evaluations 1 --jobs 2 --into ";
  EXPECT_EQ(lsecheck(hunt + (folder / "sound").string() + " --partitions 2").exit_code, kClean);
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape& shape) {
    if (shape.num_partitions == 16) std::abort();
  });
  const KernelInPlace in_place(broken);
  const Ended ended = lsecheck(hunt + (folder / "w").string() + " --partitions 2,16");
  EXPECT_EQ(ended.exit_code, kFailed);
  EXPECT_THAT(ended.out,
              ContainsRegex("FAILS mha_splitk_reduce: while mha_splitk_reduce f32<-f32 log2 narrow P=16 was hunted the "
                            "process that ran the kernel crashed: Aborted; .*\n  lsecheck repro lse1-[a-z2-7]+\n  "
                            "lsecheck hunt .*--partitions 16 --evaluations 4096 --seed 1 .*--no-isolate\n"
                            "mha_splitk_reduce +log2 +narrow +16 +0 +-\n"));
  EXPECT_EQ(count_of("FAILS", ended.out), 2U);
  EXPECT_THAT(ended.out, ContainsRegex("mha_splitk_reduce +natural +narrow +2 +4096 +[0-9.]+\n"));
  const std::string file = "mha_splitk_reduce.f32.f32.txt";
  std::string kept = contents_of(folder / "w" / file);
  for (const char* lost : {"hunt kernel=mha_splitk_reduce out=f32 partial=f32 arch=sm_100a exponent=log2 P=16 "
                           "regime=narrow metric=scaled_ulp seed=1 islands=0\n",
                           "hunt kernel=mha_splitk_reduce out=f32 partial=f32 arch=sm_100a exponent=natural P=16 "
                           "regime=narrow metric=scaled_ulp seed=1 islands=0\n"}) {
    ASSERT_NE(kept.find(lost), std::string::npos) << kept;
    kept.erase(kept.find(lost), std::string(lost).size());
  }
  EXPECT_EQ(kept, contents_of(folder / "sound" / file));
}

// What is known is replayed first, and dies; it stays in the file, and its case file replays the death.
TEST(CrashingKernel, AHuntGivesAKernelUpAndGoesOnWithOthers) {
  const TemporaryDirectory folder;
  const std::string places = " --into " + (folder / "w").string() + " --failures " + (folder / "f").string();
  EXPECT_EQ(
      lsecheck("hunt --kernel fa4_ws_level2_reduce_scatter_write --regime ties --evaluations 1" + places).exit_code,
      kClean);
  const std::string file = "fa4_ws_level2_reduce_scatter_write.f32.f32.txt";
  const std::string before = contents_of(folder / "w" / file);
  const BrokenKernel broken(*find_kernel("fa4_ws_level2_reduce_scatter_write"),
                            [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const Ended ended = lsecheck("hunt --kernel '*reduce*' --partitions 2 --regime narrow,ties --evaluations 1" + places);
  EXPECT_EQ(ended.exit_code, kFailed);
  const std::string case_file = (folder / "f").string() + "/hunt-0.safetensors";
  EXPECT_THAT(ended.out, HasSubstr("FAILS fa4_ws_level2_reduce_scatter_write: the process that ran the kernel crashed: "
                                   "Aborted\n  lsecheck repro " +
                                   case_file + "\n"));
  EXPECT_THAT(ended.out, HasSubstr("fa4_ws_level2_reduce_scatter_write: after 3 cases that brought their process down "
                                   "this kernel is run no more\n"));
  EXPECT_EQ(count_of("FAILS", ended.out), 3U);
  EXPECT_THAT(ended.out, ContainsRegex("mha_splitk_reduce +log2 +narrow +2 +4096 +[0-9.]+\n"));
  const std::string known = before.substr(before.find("\ncase "));
  EXPECT_THAT(contents_of(folder / "w" / file), HasSubstr(known));
  EXPECT_THAT(repro(case_file).out, HasSubstr("FAILS    the process that ran the kernel crashed: Aborted\n"));
}

// For a debugger: the crash is this process's own.
TEST(ReproDeathTest, WithoutIsolationACrashIsTheProgramsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  EXPECT_EXIT(repro(token_of(LawId::accuracy) + " --no-isolate"), testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(lsecheck("outputs --kernel mha_splitk_reduce --cases 1 --jobs 1 --no-isolate"),
              testing::KilledBySignal(SIGABRT), "");
}

TEST(ReproDeathTest, TheLineOfADeadHuntHuntsIntoTheSameDeath) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TemporaryDirectory folder;
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const std::string told =
      lsecheck("hunt --kernel mha_splitk_reduce --partitions 2 --regime ties --into " + (folder / "w").string()).out;
  const std::size_t begin = told.find("hunt --kernel");
  ASSERT_NE(begin, std::string::npos) << told;
  std::string line = told.substr(begin, told.find('\n', begin) - begin);
  line.replace(line.find("--into hunted"), std::string("--into hunted").size(), "--into " + (folder / "h").string());
  EXPECT_EXIT(lsecheck(line), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace lsecheck::cli
