#include "cli/mutant_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/child_process.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatchLimit{60};
constexpr std::chrono::seconds kBuildLimit{3600};

// What makes up the sources: everything but hidden folders and those that hold a build.
bool belongs(const fs::path& top) {
  const std::string name = top.filename().string();
  return !name.starts_with(".") && name != "build" && !name.starts_with("lsecheck-");
}

std::set<fs::path> files_below(const fs::path& root) {
  std::set<fs::path> files;
  if (!fs::exists(root)) return files;
  for (const fs::directory_entry& top : fs::directory_iterator(root)) {
    if (!belongs(top.path())) continue;
    if (top.is_regular_file()) files.insert(top.path().filename());
    if (!top.is_directory()) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top.path())) {
      if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), root));
    }
  }
  return files;
}

bool same_content(const fs::path& a, const fs::path& b) {
  return fs::exists(b) && fs::file_size(a) == fs::file_size(b) &&
         read_whole_text(a.string()) == read_whole_text(b.string());
}

}  // namespace

MutantTree::MutantTree(std::string source, std::string scratch, unsigned jobs)
    : source_(std::move(source)), scratch_(std::move(scratch)), jobs_(jobs) {
  // What refresh() does not know it removes: never in a folder of somebody else's.
  const std::string marker = scratch_ + "/build/mutants.txt";
  if (fs::exists(scratch_) && !fs::is_empty(scratch_) && !fs::exists(marker)) {
    throw FileError(FileErrorKind::unreadable, scratch_, "is in use for something else; name another folder");
  }
  fs::create_directories(scratch_ + "/build");
  write_file_atomically(marker, "scratch folder of lsecheck mutants\n");
}

void MutantTree::refresh() const {
  const fs::path copy = scratch_;
  const std::set<fs::path> wanted = files_below(source_);
  for (const fs::path& file : files_below(copy)) {
    if (!wanted.contains(file)) fs::remove(copy / file);
  }
  for (const fs::path& file : wanted) {
    if (same_content(source_ / file, copy / file)) continue;
    fs::create_directories((copy / file).parent_path());
    fs::copy_file(source_ / file, copy / file, fs::copy_options::overwrite_existing);
  }
}

std::optional<std::string> MutantTree::apply(const std::string& patch) const {
  const std::string log = file("patch.log");
  const ChildEnd end = run_child({"patch", "--forward", "--strip=1", "--no-backup-if-mismatch", "--reject-file=-",
                                  "--directory=" + scratch_, "--input=" + fs::absolute(patch).string()},
                                 log, kPatchLimit);
  if (end.clean()) return std::nullopt;
  return fmt::format("patch: {}; regenerate it against the present sources (see {})", end.text(), log);
}

std::optional<std::string> MutantTree::build() const {
  const std::string log = file("build.log");
  const auto step = [&](const std::vector<std::string>& argv) -> std::optional<std::string> {
    const ChildEnd end = run_child(argv, log, kBuildLimit);
    if (end.clean()) return std::nullopt;
    return fmt::format("{}: {} (see {})", argv[0], end.text(), log);
  };
  // Laid out and compiled as ./dev build does, so that a compiler cache serves both; only the kernels, which every
  // mutant compiles anew, are optimised less: -Og compiles in 0.4 of the time of -O2 and runs in 1.2 of it, -O0 in 0.28
  // and 3.0 (mla_combine).
  const std::string build = scratch_ + "/build/release";
  if (!fs::exists(build + "/build.ninja")) {
    if (auto wrong =
            step({"cmake", "-S", scratch_, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                  "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -g1", "-DLSECHECK_CUDA=OFF", "-DLSECHECK_KERNEL_OPTIONS=-Og;-g0"})) {
      return wrong;
    }
  }
  return step({"cmake", "--build", build, "--target", "lsecheck", "--parallel", std::to_string(jobs_)});
}

}  // namespace lsecheck::cli
