#include "cli/coverage_gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/case_coverage.h"
#include "properties/case_draw.h"
#include "properties/plugin/loaded_plugin.h"

namespace lsecheck::cli {
namespace {

using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The first `cases` cases of the sequence that seed 1 starts, counted but not run.
StoredRun drawn_run(const std::string& arch, std::uint64_t cases) {
  StoredRun run;
  run.context.arch = arch;
  run.context.kernel_glob = "*";
  run.results.totals.cases = cases;
  DrawLimits limits;
  limits.arch = parse_arch(arch);
  for (std::uint64_t i = 0; i < cases; ++i) {
    for (const std::string& name : coverage_classes(draw_spec(1, i, limits))) ++run.results.coverage[name];
  }
  return run;
}

TEST(CoverageGaps, ALargeRunHasNone) {
  EXPECT_THAT(coverage_gaps(drawn_run("all", 2000)), IsEmpty());
  EXPECT_THAT(coverage_gaps(drawn_run("sm_100a", 2000)), IsEmpty());
}

TEST(CoverageGaps, ARunOfOneCaseLacksMost) {
  const auto gaps = coverage_gaps(drawn_run("all", 1));
  EXPECT_GT(gaps.size(), 20U);
  EXPECT_THAT(gaps, Contains(testing::HasSubstr("(0 of at least 1 cases)")));
}

TEST(CoverageGaps, ARunOnOneChipDoesNotMissTheOthers) {
  EXPECT_THAT(coverage_gaps(drawn_run("sm_100a", 1)), Each(Not(StartsWith("arch:"))));
}

// A report need not have the plugin at hand.
TEST(CoverageGaps, ARunOfAPluginLacksNothingThatNoPluginIsDealt) {
  StoredRun run;
  run.context.backend = "plugin ./it.so";
  run.context.kernel_glob = "it";
  const auto gaps = coverage_gaps(run);
  EXPECT_GT(gaps.size(), 15U);
  EXPECT_THAT(gaps, Each(testing::MatchesRegex("(lse|values|empties):.*")));
  EXPECT_THAT(gaps, Each(Not(testing::ContainsRegex("policy|nonfinite"))));
  const LoadedPlugin plugin(LSECHECK_TEST_PLUGINS "/online_natural.so");
  run.results.totals.cases = 2000;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const CaseSpec spec = draw_spec(1, i, {.kernels = {KernelId::plugin}});
    for (const std::string& name : coverage_classes(spec)) ++run.results.coverage[name];
  }
  EXPECT_THAT(coverage_gaps(run), IsEmpty());
}

TEST(CoverageGaps, AClassBelowItsShareIsNamed) {
  StoredRun run = drawn_run("all", 2000);
  run.results.coverage["lse:narrow"] = 3;
  EXPECT_THAT(coverage_gaps(run), testing::ElementsAre(StartsWith("lse:narrow (3 of at least ")));
}

TEST(CoverageGaps, NothingIsClaimedOfAnotherGenerator) {
  StoredRun run = drawn_run("all", 1);
  run.context.generator_version = kGeneratorVersion + 1;
  EXPECT_THAT(coverage_gaps(run), IsEmpty());
}

}  // namespace
}  // namespace lsecheck::cli
