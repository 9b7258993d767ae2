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
  const std::uint64_t cases = run.results.totals.cases;
  std::vector<std::string> gaps;
  for (const RequiredClass& required : required_classes(limits)) {
    const auto found = run.results.coverage.find(required.name);
    const std::uint64_t count = found == run.results.coverage.end() ? 0 : found->second;
    if (required.covered(count, cases)) continue;
    const std::uint64_t wanted = (cases * static_cast<std::uint64_t>(required.min_percent) + 99) / 100;
    gaps.push_back(
        fmt::format("{} ({} of at least {} cases)", required.name, count, std::max<std::uint64_t>(wanted, 1)));
  }
  return gaps;
}

}  // namespace lsecheck::cli
