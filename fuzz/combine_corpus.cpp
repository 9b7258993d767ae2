#include "fuzz/combine_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "fuzz/combine_case_input.h"
#include "properties/runner.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

std::optional<CaseFile> load_input(const std::string& path, const std::vector<KernelId>& kernels) {
  const std::string bytes = read_whole_text(path);
  if (bytes.size() < fuzz::kHeaderBytes) {
    throw FileError(FileErrorKind::unreadable, path,
                    fmt::format("{} bytes; an input of the fuzz target combine_case begins with a header of {}",
                                bytes.size(), fuzz::kHeaderBytes));
  }
  auto decoded = fuzz::decode_combine_case({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  if (!decoded) return std::nullopt;
  const KernelId kernel = decoded->tensors.spec.kernel;
  if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) return std::nullopt;
  return CaseFile{std::move(decoded->tensors), "", "", kGeneratorVersion};
}

}  // namespace

std::vector<std::string> corpus_inputs(const std::string& folder) {
  std::vector<std::string> inputs = files_in(folder, "");
  if (inputs.empty()) throw std::invalid_argument(fmt::format("{} holds no inputs", folder));
  return inputs;
}

ReplaySource corpus_source(const std::vector<KernelId>& kernels, const std::vector<const Law*>& laws,
                           const std::string& failure_directory) {
  ReplaySource source;
  source.origin = kCorpusInput;
  source.load = [kernels](const std::string& path) { return load_input(path, kernels); };
  source.laws = laws;
  source.case_files = failure_directory;
  source.give_up = kDeathsUntilGivenUp;
  return source;
}

}  // namespace lsecheck
