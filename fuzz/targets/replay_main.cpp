#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/targets/fuzz_target.h"
#include "properties/whole_file.h"

// Replays kept inputs in any build, and writes the inputs that a fuzzer begins with:
//
//   fuzz_replay TARGET FILE|FOLDER...    exit code 1 where an input fails
//   fuzz_replay TARGET --seeds FOLDER
namespace lsecheck::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

int write_seeds(const FuzzTarget& target, const fs::path& folder) {
  fs::create_directories(folder);
  const auto seeds = target.seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    write_file_atomically((folder / fmt::format("seed-{:02}", i)).string(),
                          std::string_view(reinterpret_cast<const char*>(seeds[i].data()), seeds[i].size()));
  }
  return 0;
}

int replay(const FuzzTarget& target, const std::vector<fs::path>& paths) {
  std::size_t replayed = 0;
  std::size_t failed = 0;
  for (const fs::path& path : paths) {
    for (const fs::path& file : files_of(path)) {
      const std::string bytes = read_whole_text(file.string());
      const FuzzOutcome outcome =
          run_guarded(target, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      ++replayed;
      if (!outcome.failure) continue;
      ++failed;
      fmt::print("{}\n{}\n", file.string(), *outcome.failure);
    }
  }
  fmt::print("{}: {} inputs, {} failing\n", target.name, replayed, failed);
  return failed > 0 || replayed == 0 ? 1 : 0;
}

int replay_main(const std::vector<std::string>& arguments) {
  const FuzzTarget* const target = arguments.empty() ? nullptr : find_fuzz_target(arguments[0]);
  const bool seeds = arguments.size() == 3 && arguments[1] == "--seeds";
  if (target == nullptr || arguments.size() < 2 || (arguments[1] == "--seeds" && !seeds)) {
    fmt::print(stderr, "usage: fuzz_replay TARGET FILE|FOLDER... | TARGET --seeds FOLDER; targets:\n");
    for (const FuzzTarget& known : fuzz_targets()) fmt::print(stderr, "  {:<13} {}\n", known.name, known.about);
    return kUsage;
  }
  if (seeds) return write_seeds(*target, arguments[2]);
  return replay(*target, {arguments.begin() + 1, arguments.end()});
}

}  // namespace
}  // namespace lsecheck::fuzz

int main(int argc, char** argv) {
  try {
    return lsecheck::fuzz::replay_main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz_replay: {}\n", error.what());
    return 2;
  }
}
