#include "fuzz/committed_worst.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "fuzz/worst_file.h"
#include "properties/case_file.h"
#include "properties/runner.h"
#include "reference/certified_reference.h"

namespace lsecheck {

namespace {

constexpr std::uint64_t kReportedPerKernel = 4;

}  // namespace

void add_worst_failure(RunResults& results, const WorstReplay& replayed, std::size_t number,
                       const std::string& directory) {
  const CaseSpec& spec = replayed.tensors.spec;
  const std::string kernel(name_of(spec.kernel));
  std::filesystem::create_directories(directory);
  const std::string path = fmt::format("{}/worst-{}.safetensors", directory, number);
  save_case(path, {replayed.tensors, "accuracy", "", kGeneratorVersion});
  results.failures.push_back(
      {0, kernel, "accuracy", path, path, "", "a known worst case: " + describe_spec(spec), *replayed.failure});
  ++results.totals.failures;
  LawRow& law = results.laws[{kernel, "accuracy"}];
  ++law.checked;
  ++law.failed;
}

std::vector<WorstCase> committed_worst_cases() {
  std::vector<WorstCase> cases;
  for (const std::string_view text : committed_worst_files()) {
    for (HuntRecord& record : parse_worst_file(text).records) {
      std::move(record.cases.begin(), record.cases.end(), std::back_inserter(cases));
    }
  }
  return cases;
}

WorstReplays replay_worst_cases(std::span<const WorstCase> cases, std::span<const KernelId> kernels,
                                const std::string& directory) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  WorstReplays all;
  std::map<KernelId, std::uint64_t> failed;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KernelId kernel = cases[i].target.kernel;
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) continue;
    if (failed[kernel] == kReportedPerKernel) continue;
    const std::optional<WorstReplay> replayed = replay(cases[i], *reference);
    all.replayed += replayed ? 1 : 0;
    all.not_in_this_build += replayed ? 0 : 1;
    if (!replayed || !replayed->failure) continue;
    ++failed[kernel];
    add_worst_failure(all.results, *replayed, i, directory);
  }
  return all;
}

}  // namespace lsecheck
