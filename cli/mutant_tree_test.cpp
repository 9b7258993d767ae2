#include "cli/mutant_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "cli/child_process.h"
#include "properties/mutant_patch.h"
#include "properties/temporary_directory.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

using ::testing::HasSubstr;

// A source change that a mutant does not follow makes it test nothing.
TEST(Mutants, EveryPatchAppliesToTheSources) {
  const TemporaryDirectory scratch;
  for (const MutantPatch& patch : mutants_in(LSECHECK_SOURCE_DIR "/properties/mutants")) {
    const std::string log = (scratch / "log").string();
    const ChildEnd end = run_child({"patch", "--dry-run", "--forward", "--strip=1", "--reject-file=-", "--directory",
                                    LSECHECK_SOURCE_DIR, "--input", patch.path},
                                   log, std::chrono::seconds(60));
    EXPECT_TRUE(end.clean()) << patch.name << ": " << read_whole_text(log);
  }
}

TEST(MutantTree, APatchIsPlantedAndUndone) {
  const TemporaryDirectory directory;
  const std::string source = (directory / "source").string();
  const std::string scratch = (directory / "scratch").string();
  const std::string patch = (directory / "p.patch").string();
  std::filesystem::create_directories(source + "/kernels");
  write_file_atomically(source + "/kernels/a.txt", "one\n");
  write_file_atomically(patch, "--- a/kernels/a.txt\n+++ b/kernels/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
  const MutantTree tree(source, scratch, 1);
  tree.refresh();
  EXPECT_EQ(tree.apply(patch), std::nullopt);
  EXPECT_EQ(read_whole_text(scratch + "/kernels/a.txt"), "two\n");
  EXPECT_THAT(tree.apply(patch).value_or(""), HasSubstr("regenerate it"));
  tree.refresh();
  EXPECT_EQ(read_whole_text(scratch + "/kernels/a.txt"), "one\n");
  EXPECT_EQ(read_whole_text(source + "/kernels/a.txt"), "one\n");
}

TEST(MutantTree, AFolderInUseIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string precious = (directory / "precious.txt").string();
  write_file_atomically(precious, "mine\n");
  EXPECT_THROW(MutantTree((directory / "source").string(), (directory / "").string(), 1), FileError);
  EXPECT_EQ(read_whole_text(precious), "mine\n");
}

TEST(ChildProcess, EndsAreTold) {
  const TemporaryDirectory scratch;
  const std::string log = (scratch / "log").string();
  const auto shell = [&](const std::string& text, int seconds = 60) {
    return run_child({"sh", "-c", text}, log, std::chrono::seconds(seconds));
  };
  EXPECT_TRUE(shell("echo out; echo err >&2").clean());
  EXPECT_EQ(read_whole_text(log), "out\nerr\n");
  EXPECT_EQ(shell("exit 3").text(), "exit code 3");
  EXPECT_EQ(shell("kill -SEGV $$").text(), "signal 11");
  EXPECT_EQ(shell("sleep 60", 0).text(), "no end within its time limit");
  EXPECT_THROW(run_child({"no-such-program-at-all"}, log, std::chrono::seconds(1)), std::runtime_error);
}

}  // namespace
}  // namespace lsecheck::cli
