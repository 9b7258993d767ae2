#include "cli/coverage_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "kernels/arch.h"
#include "properties/case_coverage.h"
#include "properties/case_draw.h"

namespace lsecheck::cli {

std::vector<std::string> coverage_gaps(const StoredRun& run) {
  if (run.context.generator_version != kGeneratorVersion) return {};
  DrawLimits limits;
  limits.arch = parse_arch(run.context.arch);  // "all" is no chip's name: no limit
  limits.kernels =
      run.context.backend.starts_with(kPluginBackend)
          ? std::vector{KernelId::plugin}
          : kernels_matching(run.context.kernel_glob, run.context.backend == "cuda" ? Backend::cuda : Backend::cpu);
  const auto count_of = [&](const std::string& name) {
    const auto found = run.results.coverage.find(name);
    return found == run.results.coverage.end() ? 0 : found->second;
  };
  std::vector<std::string> gaps;
  for (const RequiredClass& required : required_classes(limits)) {
    const std::uint64_t count = count_of(required.name);
    const std::uint64_t cases = required.of.empty() ? run.results.totals.cases : count_of(required.of);
    if (required.covered(count, cases)) continue;
    const std::uint64_t wanted = (cases * static_cast<std::uint64_t>(required.min_percent) + 99) / 100;
    gaps.push_back(
        fmt::format("{} ({} of at least {} cases)", required.name, count, std::max<std::uint64_t>(wanted, 1)));
  }
  return gaps;
}

}  // namespace lsecheck::cli
