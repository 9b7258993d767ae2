#include "properties/mutant_patch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "properties/temporary_directory.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

const std::string kMutants = LSECHECK_SOURCE_DIR "/properties/mutants";

MutantPatch read(const std::string& text) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "some-bug.patch").string();
  write_file_atomically(path, text);
  return read_mutant_patch(path);
}

TEST(MutantPatch, HeaderOfOurs) {
  const MutantPatch patch = read("class: 12 P truncated\ntrigger: P > 160\nseen: here, 1\n\n--- a/x\n+++ b/x\n");
  EXPECT_EQ(patch.name, "some-bug");
  EXPECT_EQ(patch.class_number, 12);
  EXPECT_EQ(patch.bug_class, "P truncated");
  EXPECT_EQ(patch.trigger, "P > 160");
  EXPECT_EQ(patch.seen, "here, 1");
}

TEST(MutantPatch, SomebodyElsesNeedsNoHeader) {
  const MutantPatch patch = read("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+class: 3 text\n");
  EXPECT_EQ(patch.class_number, 0);
  EXPECT_EQ(patch.bug_class, "");
  EXPECT_EQ(read("class: a bug of mine\n--- a/x\n+++ b/x\n").bug_class, "a bug of mine");
}

TEST(MutantPatch, AFolderWithoutPatchesIsRefused) {
  const TemporaryDirectory directory;
  EXPECT_THROW(mutants_in((directory / "").string()), FileError);
  EXPECT_THROW(mutants_in((directory / "none").string()), FileError);
}

// NUMBER | CLASS | TRIGGER | SEEN
std::map<int, std::string> known_classes() {
  std::map<int, std::string> classes;
  std::istringstream text(read_whole_text(kMutants + "/classes.txt"));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() != '#') classes[std::stoi(line)] = line;
  }
  return classes;
}

TEST(Mutants, EveryClassHasOneAndEveryHeaderIsWhole) {
  std::map<int, std::string> missing = known_classes();
  const std::map<int, std::string> known = missing;
  EXPECT_EQ(known.size(), 40U);
  const std::vector<MutantPatch> patches = mutants_in(kMutants);
  EXPECT_GE(patches.size(), 60U);
  for (const MutantPatch& patch : patches) {
    EXPECT_TRUE(known.contains(patch.class_number)) << patch.name << " names no class of classes.txt";
    EXPECT_FALSE(patch.bug_class.empty()) << patch.name;
    EXPECT_FALSE(patch.trigger.empty()) << patch.name;
    EXPECT_FALSE(patch.seen.empty()) << patch.name;
    missing.erase(patch.class_number);
  }
  for (const auto& [number, line] : missing) ADD_FAILURE() << "no mutant of class " << line;
}

}  // namespace
}  // namespace lsecheck
