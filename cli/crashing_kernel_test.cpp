// Commands over kernels that crash, hang or leak, in the place of a registered one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
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

// For a debugger: the crash is this process's own.
TEST(ReproDeathTest, WithoutIsolationACrashIsTheProgramsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  EXPECT_EXIT(repro(token_of(LawId::accuracy) + " --no-isolate"), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace lsecheck::cli
