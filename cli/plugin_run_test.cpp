// Kernels of other projects, loaded by the built program as a shell would have it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/shell_test_directory.h"

namespace lsecheck::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Plugin : public testing::Test {
 protected:
  // $P/NAME.so is a plugin.
  Outcome run(const std::string& script) const { return directory_.run("P='" LSECHECK_TEST_PLUGINS "'\n" + script); }
  std::string contents(const std::string& file) const { return contents_of(directory_.cwd() / file); }

 private:
  ShellTestDirectory directory_;
};

TEST_F(Plugin, ACorrectOneIsClean) {
  const Outcome done = run("lsecheck run --plugin $P/example_combine.so --cases 400");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, MatchesRegex("CLEAN\n400 cases, .*"));
  EXPECT_THAT(done.out, ContainsRegex("backend[ \n]plugin[ \n][^ ]*example_combine.so,[ \n]arch[ \n]any"));
  EXPECT_THAT(done.out, ContainsRegex("kernels[ \n]example_combine"));
  EXPECT_THAT(done.out, ContainsRegex("plugin +row_independence +[0-9]+ "));
  EXPECT_THAT(done.out, Not(ContainsRegex("twin|frozen|special-function|not covered|sm_100a")));
}

TEST_F(Plugin, IsBuiltAsTheExampleSays) {
  const Outcome done = run("S='" LSECHECK_SOURCE_DIR
                           "/properties/plugin'; cp $S/example_combine.c $S/lsecheck_plugin.h . &&"
                           " cc -std=c99 -O2 -shared -fPIC -o libexample.so example_combine.c -lm &&"
                           " lsecheck run --plugin libexample.so --cases 20");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("backend plugin libexample.so"));
}

// What a failure prints is pasted back: the token first, the file then.
TEST_F(Plugin, AFailureIsReplayedByItsTokenAndByItsFile) {
  for (const std::string fault :
       {"last_forgotten", "log2_as_natural", "garbage_multiplied", "past_output", "own_error"}) {
    const Outcome failed = run("lsecheck run --plugin $P/" + fault + ".so --law accuracy --cases 64 --stop-after 1");
    EXPECT_EQ(failed.exit_code, 1) << fault << failed.err;
    EXPECT_THAT(failed.out, ContainsRegex("plugin: law accuracy failed in case [0-9]+\n  P=[0-9]+ rows=1 heads="))
        << fault;
    const Outcome again =
        run("lsecheck run --plugin $P/" + fault +
            ".so --law accuracy --cases 64 --stop-after 1 2>&1 | grep '^  lsecheck repro' | head -2 >lines\n"
            "while read -r line; do (eval \"$line\"); echo \"exit $?\"; done <lines");
    EXPECT_THAT(again.out, ContainsRegex("law +accuracy.*FAILS .*exit 1\ncase .*law +accuracy.*FAILS .*exit 1\n$"))
        << fault << again.err;
  }
}

TEST_F(Plugin, ACrashAndAHangAreFailuresOfTheKernel) {
  const Outcome crash =
      run("lsecheck run --plugin $P/crash.so --cases 64 --law accuracy >out; echo \"exit $?\"; cat out\n"
          "eval \"$(grep -m 1 '^  lsecheck repro' out)\"; echo \"exit $?\"");
  EXPECT_THAT(crash.out, MatchesRegex("exit 1\nFAILED .*crashed: Aborted.*"
                                      "FAILS    the process that ran the kernel crashed: Aborted\nexit 1\n"));
  const Outcome hang =
      run("lsecheck run --plugin $P/hang.so --cases 10 --law accuracy --case-timeout 1s --stop-after 1");
  EXPECT_EQ(hang.exit_code, 1);
  EXPECT_THAT(hang.out, HasSubstr("did not end within 1 s"));
}

TEST_F(Plugin, OneThatEndsTheProcessIsNoCleanRun) {
  const Outcome isolated = run("lsecheck run --plugin $P/exit.so --cases 64 --law accuracy --stop-after 1");
  EXPECT_EQ(isolated.exit_code, 1);
  EXPECT_THAT(isolated.out, AllOf(HasSubstr("FAILED"), HasSubstr("exit code 1")));
  const Outcome alone = run("lsecheck run --plugin $P/exit.so --cases 64 --law accuracy --no-isolate");
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(alone.err, "lsecheck: the plugin called exit() in combine(); let it return\n");
}

TEST_F(Plugin, WhatItPrintsDoesNotStandAmongTheResults) {
  const Outcome done = run("lsecheck run --plugin $P/prints.so --cases 64 --law accuracy");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(MatchesRegex("CLEAN\n.*"), Not(HasSubstr("a line of the plugin"))));
}

TEST_F(Plugin, ResultsOfAnotherBuildOfItAreNotContinuedOrMerged) {
  const Outcome done = run(
      "cp $P/past_output.so mine.so; lsecheck run --plugin mine.so --cases 128 --shard 1/2 --db 1.db >/dev/null 2>&1\n"
      "cp $P/input_changed.so mine.so; lsecheck run --plugin mine.so --cases 128 --shard 2/2 --db 2.db >/dev/null "
      "2>&1\n"
      "lsecheck run --plugin mine.so --cases 128 --shard 1/2 --db 1.db --resume; echo \"exit $?\"\n"
      "lsecheck merge 1.db 2.db --into whole.db; echo \"exit $?\"");
  EXPECT_EQ(done.out, "exit 2\nexit 2\n");
  EXPECT_THAT(done.err, ContainsRegex("faulty_combine@[0-9a-f]+.*faulty_combine@[0-9a-f]+"));
}

TEST_F(Plugin, ItsResultsAreKeptContinuedMergedAndShown) {
  const Outcome done =
      run("set -e\nR=\"run --plugin $P/online_natural.so --cases 256\"\n"
          "lsecheck $R --json whole.json --junit junit.xml >/dev/null\n"
          "lsecheck $R --db r.db --time 0s >/dev/null\n"
          "lsecheck $R --db r.db --resume --json resumed.json >/dev/null\n"
          "cmp whole.json resumed.json\n"
          "for i in 1 2; do lsecheck $R --shard $i/2 --db $i.db >/dev/null 2>&1; done\n"
          "lsecheck merge 1.db 2.db --into merged.db >/dev/null\n"
          "lsecheck report merged.db --format json --out merged.json\n"
          "cmp whole.json merged.json\n"
          "lsecheck report merged.db\n"
          "lsecheck report merged.db --format html --out report.html\n"
          "lsecheck compare r.db merged.db");
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(ContainsRegex("^CLEAN"), ContainsRegex("Same cases, same output bits")));
  EXPECT_THAT(contents("junit.xml"), HasSubstr("classname=\"lsecheck.plugin\" name=\"accuracy\""));
  EXPECT_THAT(contents("report.html"), AllOf(HasSubstr("online_natural"), Not(HasSubstr("special-function unit"))));
}

TEST_F(Plugin, TheRowsOfAnotherPluginAreNotContinued) {
  const Outcome done =
      run("lsecheck run --plugin $P/online_natural.so --cases 128 --db r.db --time 0s >/dev/null\n"
          "lsecheck run --plugin $P/example_combine.so --cases 128 --db r.db --resume");
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, ContainsRegex("online_natural"));
}

struct Misuse {
  const char* name;
  const char* arguments;
  const char* err;
};
void PrintTo(const Misuse& misuse, std::ostream* out) {
  *out << misuse.arguments;
}

class PluginMisuse : public Plugin, public testing::WithParamInterface<Misuse> {};

// The token is of case 0 of the example.
constexpr const char* kToken =
    "token=$(lsecheck run --plugin $P/past_output.so --cases 1 --law accuracy 2>/dev/null |"
    " sed -n 's/^  lsecheck repro .* \\(lse1-.*\\)/\\1/p' | head -1)\n";

TEST_P(PluginMisuse, EndsInOneLine) {
  const Outcome done = run(std::string(kToken) + "lsecheck " + GetParam().arguments);
  EXPECT_EQ(done.exit_code, 2) << done.out;
  EXPECT_THAT(done.err, MatchesRegex(std::string("lsecheck: [^\n]*") + GetParam().err + "[^\n]*\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, PluginMisuse,
    testing::Values(
        Misuse{"TokenWithoutPlugin", "repro $token",
               "token: its kernel is a plugin, and none is loaded; .* --plugin FILE"},
        Misuse{"FileWithoutPlugin", "repro lsecheck-results/case-0-accuracy.safetensors",
               "case-0-accuracy.safetensors: its kernel is a plugin, and none is loaded"},
        Misuse{"TokenOfAnotherShape", "repro --plugin $P/online_natural.so $token",
               "token: ov_depth 64 has no kernel; use one of 8 32"},
        Misuse{"TokenOfAnotherKernel",
               "repro --plugin $P/example_combine.so lse1-amaaaaaaejjqaaaaeeaqcqaaaaaaaaaaaaaoqwswaq",
               "--plugin: the case is of fa4_splitk_combine; leave --plugin out"},
        Misuse{"Explain", "repro --plugin $P/past_output.so $token --explain",
               "--explain: is not for plugins; leave it or --plugin out"},
        Misuse{"NoSuchFile", "run --plugin nowhere.so", "nowhere.so: cannot open shared object file"},
        Misuse{"AnotherVersion", "run --plugin $P/other_abi.so", "other_abi.so: abi is 2, this program knows 1"},
        Misuse{"NoPlugin", "run --plugin $P/no_symbol.so", "no_symbol.so: it exports no lsecheck_plugin_v1"},
        Misuse{"Kernel", "run --plugin $P/example_combine.so --kernel 'fa4*'",
               "--kernel: is not for plugins; leave it or --plugin out"},
        Misuse{"Chip", "run --plugin $P/example_combine.so --arch sm_90",
               "--arch: is not for plugins; leave it or --plugin out"},
        Misuse{"Unit", "run --plugin $P/example_combine.so --sfu spec",
               "--sfu: is not for plugins; leave it or --plugin out"},
        Misuse{"EmptyName", "run --plugin ''", "--plugin: it is empty; name a file or folder, or leave the option out"},
        Misuse{"EmptyCorpus", "nightly --corpus ''", "--corpus: it is empty; name a file or folder"},
        Misuse{"Law", "run --plugin $P/example_combine.so --law twin",
               "--law: 'twin' names no law that says something of example_combine"},
        Misuse{"Nightly", "nightly --plugin $P/example_combine.so", "--plugin"},
        Misuse{"Hunt", "hunt --plugin $P/example_combine.so", "--plugin"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lsecheck::cli
