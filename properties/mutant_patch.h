#pragma once

#include <string>
#include <vector>

// A mutant: a patch that plants one mistake in the sources, as diff -u writes it, paths with one leading folder (a/,
// b/). Ours begin with three lines that say what they plant, "class: NUMBER NAME" (of properties/mutants/classes.txt),
// "trigger: ..." and "seen: ..."; a patch without them is as good.
namespace lsecheck {

struct MutantPatch {
  std::string path;
  std::string name;      // of the file, without .patch
  int class_number = 0;  // 0: none given
  std::string bug_class;
  std::string trigger;
  std::string seen;
};

// Throws FileError where it cannot be read.
MutantPatch read_mutant_patch(const std::string& path);

// The *.patch files of a folder, by name. Throws FileError (unreadable) where there is none.
std::vector<MutantPatch> mutants_in(const std::string& directory);

}  // namespace lsecheck
