#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/shell_test_directory.h"

// Runs the built program as a shell would. One row is one command line: its exit code and what the two streams say.
// A row with exit code 2 or 4 also promises that standard error is exactly one line that begins with "lsecheck: ".
namespace lsecheck::cli {

struct CommandLine {
  const char* name;       // of the test
  const char* arguments;  // as typed after `lsecheck`, in an empty directory; more shell may follow
  int exit_code;
  const char* out = "";  // extended regular expressions, searched in the stream; ^ and $ are its two ends
  const char* err = "";
};

inline void PrintTo(const CommandLine& line, std::ostream* out) {
  *out << "lsecheck " << line.arguments;
}

class CommandLineTest : public testing::TestWithParam<CommandLine> {
 protected:
  void run_as_promised() const {
    const CommandLine& line = GetParam();
    const Outcome outcome = directory_.run(std::string("lsecheck ") + line.arguments);
    EXPECT_EQ(outcome.exit_code, line.exit_code);
    EXPECT_THAT(outcome.out, testing::ContainsRegex(line.out));
    EXPECT_THAT(outcome.err, testing::ContainsRegex(line.err));
    if (line.exit_code == 2 || line.exit_code == 4) {
      EXPECT_THAT(outcome.err, testing::MatchesRegex("lsecheck: [^\n]+\n"));
    }
  }

 private:
  ShellTestDirectory directory_;
};

}  // namespace lsecheck::cli
