#include "properties/mutant_patch.h"

#include <algorithm>
#include <filesystem>

#include "properties/whole_file.h"

namespace lsecheck {

namespace {

namespace fs = std::filesystem;

// "field: value" above the first "--- " of the patch.
std::string header_field(const std::string& text, const std::string& field) {
  const std::size_t header_end =
      text.starts_with("--- ") || text.starts_with("diff ") ? 0 : std::min(text.find("\ndiff "), text.find("\n--- "));
  const std::string header = "\n" + text.substr(0, header_end);
  const std::size_t at = header.find("\n" + field + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + field.size() + 3;
  return header.substr(begin, header.find('\n', begin) - begin);
}

}  // namespace

MutantPatch read_mutant_patch(const std::string& path) {
  const std::string text = read_whole_text(path);
  MutantPatch patch;
  patch.path = path;
  patch.name = fs::path(path).stem().string();
  patch.bug_class = header_field(text, "class");
  patch.trigger = header_field(text, "trigger");
  patch.seen = header_field(text, "seen");
  const std::size_t digits = std::min(patch.bug_class.find_first_not_of("0123456789"), patch.bug_class.size());
  if (digits > 0 && digits < 4) {
    patch.class_number = std::stoi(patch.bug_class.substr(0, digits));
    patch.bug_class.erase(0, patch.bug_class.find_first_not_of(' ', digits));
  }
  return patch;
}

std::vector<MutantPatch> mutants_in(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".patch") paths.push_back(entry.path().string());
  }
  if (error) throw FileError(FileErrorKind::unreadable, directory, error.message());
  if (paths.empty()) throw FileError(FileErrorKind::unreadable, directory, "holds no *.patch file");
  std::sort(paths.begin(), paths.end());
  std::vector<MutantPatch> patches;
  patches.reserve(paths.size());
  for (const std::string& path : paths) patches.push_back(read_mutant_patch(path));
  return patches;
}

}  // namespace lsecheck
